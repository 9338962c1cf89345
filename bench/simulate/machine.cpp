#include "bench/simulate/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "bench/simulate/world.h"
#include "core/machine/debt_record.h"
#include "core/machine/note_walk.h"

namespace rate_limit::simulated {

namespace {

constexpr HashKey hash_key{0x1234567890abcdef, 0xfedcba0987654321};
constexpr Micros walk_interval = 250'000;

bool lives(const Process& /*process*/) {
    return true;
}

}  // namespace

void NextLook::happen() {
    Machine& of = *machine;
    const Key looks_at = key;
    world->looks.put_back(*this);
    of.look(looks_at);
}

Zone::Zone(std::size_t records)
    : size_(WindowTable::bytes_for(records)),
      memory_(
          ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
      windows_(LockUser{{1, 1}, lives}) {
    if (memory_ == MAP_FAILED || !windows_.create(memory_, size_, hash_key)) {
        throw std::bad_alloc();
    }
}

Zone::~Zone() {
    ::munmap(memory_, size_);
}

Channel::Channel(World& world, Worker& worker, Shard& shard)
    : primary(world, shard, false),
      replica(world, shard, true),
      charges(world, worker, primary),
      fetches(world, worker, primary, charges) {}

Worker::Worker(World& world, Machine& machine) : world_(world), machine_(machine) {
    for (const std::unique_ptr<Shard>& shard : world.shards) {
        channels_.emplace_back(world, *this, *shard);
    }
    be_born();
}

void Worker::be_born() {
    world_.names.push_back("w" + std::to_string(world_.names.size()));
    name_ = world_.names.back();
}

Channel& Worker::channel(Key key) noexcept {
    return channels_[world_.shard_of(key)];
}

/// Microseconds of its clock, as numbers of calls are.
std::int64_t Worker::next_number() noexcept {
    number_ = std::max(number_ + 1, machine_.now() * 1000);
    return number_;
}

void Worker::kill() {
    ++life_;
    for (Channel& channel : channels_) {
        channel.primary.kill();
        channel.replica.kill();
        channel.charges.kill();
        channel.fetches.kill();
    }
    be_born();
}

Machine::Machine(World& world, std::size_t number, Micros clock_ahead)
    : world_(world),
      number_(number),
      ahead_(clock_ahead),
      walks_at_(static_cast<Micros>(world.random.below(walk_interval))),
      zone_(std::make_unique<Zone>(world.setup.records)) {
    for (std::size_t i = 0; i < world.setup.workers; ++i) {
        workers_.push_back(std::make_unique<Worker>(world, *this));
    }
}

Millis Machine::now() const noexcept {
    return (world_.events.now() + ahead_) / 1000;
}

Terms Machine::terms() const noexcept {
    const Rate& rate = world_.setup.rate;
    const Millis at = now();
    return {rate, Truth::redis, propose_reset(WindowKind::first, rate.period, at), at};
}

Question Machine::question(Key key, std::uint32_t events) const noexcept {
    const auto waiting = charges_waiting_.find(key);
    return {events, waiting != charges_waiting_.end() ? waiting->second.cost : 0, Charges::patience};
}

void Machine::wait(Key key, const Debt& owed) {
    const Millis at = now();
    if (owed.is_refund) {
        if (owed.reset > at) {
            const auto [found, added] = refunds_waiting_.emplace(std::make_pair(key, owed.reset), owed);
            if (!added) {
                found->second.join(owed);
            }
        }
        return;
    }
    const auto [found, added] = charges_waiting_.emplace(key, owed);
    if (!added) {
        found->second.join(owed);
    } else if (owed.reset <= at) {
        found->second.reset = propose_reset(WindowKind::first, world_.setup.rate.period, at);
    }
}

void Machine::take_waiting(Key& key, Debt& owed) {
    if (!charges_waiting_.empty()) {
        key = charges_waiting_.begin()->first;
        owed = charges_waiting_.begin()->second;
        charges_waiting_.erase(charges_waiting_.begin());
    } else {
        key = refunds_waiting_.begin()->first.first;
        owed = refunds_waiting_.begin()->second;
        refunds_waiting_.erase(refunds_waiting_.begin());
    }
}

void Machine::note(Key key, Millis reset, std::int64_t tokens) {
    const auto [found, added] = notes_.try_emplace(key);
    Note& note = found->second;
    if (note.reset != reset) {
        note = {reset, 0, now()};
        schedule_look(key, note);
    }
    note.cost += tokens;
}

/// When the walk comes by for the first time after the note is due.
void Machine::schedule_look(Key key, const Note& note) {
    const Millis interval = lease_interval(world_.setup.rate.period);
    const Millis soon = std::max(note.reset - interval, note.looked_at + (interval + 3) / 4);
    const Millis due = std::min({note.looked_at + interval, soon, note.reset});
    const Micros at = std::max(due * 1000 - ahead_, world_.events.now() + 1);
    const Micros rounds = (at - walks_at_ + walk_interval - 1) / walk_interval;
    NextLook& look = world_.looks.take();
    look.world = &world_;
    look.machine = this;
    look.key = key;
    world_.events.at(walks_at_ + rounds * walk_interval, look);
}

void Machine::look(Key key) {
    const auto found = notes_.find(key);
    if (found == notes_.end()) {
        return;
    }
    Note& note = found->second;
    const Millis at = now();
    if (note.reset <= at) {
        windows().change(world_.id_of(key), [&](WindowRecord& record) {
            record.leased = record.reset == note.reset ? 0 : record.leased;
        });
        notes_.erase(found);
        return;
    }
    DebtRecord as_noted;
    as_noted.kind = DebtKind::tokens;
    as_noted.reset = note.reset;
    as_noted.looked_at = note.looked_at;
    as_noted.period = static_cast<std::uint32_t>(world_.setup.rate.period);
    Channel& channel = workers_[world_.random.below(workers_.size())]->channel(key);
    if (!is_due(as_noted, at, 0)) {
        return;  // it was made anew since, and another look will come
    }
    if (!channel.primary.usable()) {
        note.looked_at = at;  // while it is away, tokens are all that there is
        schedule_look(key, note);
        return;
    }
    const Millis reset = note.reset;
    const std::int64_t noted = note.cost;
    const std::int64_t back = take_unneeded(key, note);
    if (note.cost == 0 && noted == back) {
        notes_.erase(found);  // nobody has used them since the last look
    } else {
        schedule_look(key, note);
    }
    if (back > 0) {
        channel.charges.refund(key, back, reset);
    }
}

/// Returns how many tokens go back to the primary.
std::int64_t Machine::take_unneeded(Key key, Note& note) {
    const std::int64_t period = world_.setup.rate.period;
    const Millis at = now();
    std::int64_t back = 0;
    std::int64_t left_here = 0;
    windows().change(world_.id_of(key), [&](WindowRecord& record) {
        if (record.reset == note.reset && is_open(record, period, at)) {
            back = take_surplus(record, {note.cost, note.looked_at, at, period, false});
            left_here = at_hand(record);
        }
    });
    note.cost = left_here;
    note.looked_at = at;
    return back;
}

void Machine::kill() {
    for (const std::unique_ptr<Worker>& worker : workers_) {
        worker->kill();
    }
    zone_ = std::make_unique<Zone>(world_.setup.records);
    notes_.clear();
    charges_waiting_.clear();
    refunds_waiting_.clear();
}

}  // namespace rate_limit::simulated
