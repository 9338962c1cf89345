#include "limiter/zone.h"

#include <algorithm>
#include <new>
#include <utility>

#include "limiter/worker.h"

namespace rate_limit {

namespace {

/// A quarter of the zone, at most most_waiting bytes, is for charges that wait and for notes of tokens. It is
/// bounded because workers walk over it all the time.
constexpr std::size_t waiting_part = 4;
constexpr std::size_t most_waiting = std::size_t{64} * 1024 * 1024;

/// A part of the zone, taken from that quarter, is for overrides: at most what all of them take.
constexpr std::size_t override_part = 32;

/// So much is for the rates that limits of variable rates have had.
constexpr std::size_t rates_part = 256;
constexpr std::size_t most_rates = std::size_t{64} * 1024;

/// So much is for the sums of which keys the commands to each shard are of.
constexpr std::size_t hot_keys_part = 256;

/// So many workers for each that is configured can count running requests at the same time, those of former
/// configurations included, whose requests may run for days; as far as this part of the zone has room.
constexpr std::size_t places_a_worker = 16;
constexpr std::size_t least_workers = 2;
constexpr std::size_t places_part = 128;

/// So much is for what they count of each limit.
constexpr std::size_t running_part = 64;

/// A worker that has found no place looks again when one has been given up, and so often, in milliseconds.
constexpr std::uint32_t seek_place = 1000;

/// The call by which this worker learns that there is more for it to do before it may leave.
struct Notice {
    static constexpr WorkerPart part = WorkerPart::notice;

    void (*call)() noexcept = nullptr;
};

void notice_more() noexcept {
    const auto call = Worker::current().part<Notice>().call;
    if (call != nullptr) {
        call();
    }
}

/// A sixteenth, at most most_counting bytes, is for what operators see: at least half of it, and
/// least_counters bytes, for counters, and a third of what is left each for what they counted in the last
/// hour, for the keys that are rejected most often, and for the records of nodes. Windows get the rest of the
/// zone.
constexpr std::size_t counting_part = 16;
constexpr std::size_t most_counting = std::size_t{4} * 1024 * 1024;
constexpr std::size_t least_counters = std::size_t{4} * 1024;

}  // namespace

bool Zone::adopt(const Zone& previous) noexcept {
    enter_process();
    size_ = previous.size_;
    for_counters_ = previous.for_counters_;
    for_nodes_ = previous.for_nodes_;
    for_last_hour_ = previous.for_last_hour_;
    for_offenders_ = previous.for_offenders_;
    for_hot_keys_ = previous.for_hot_keys_;
    for_overrides_ = previous.for_overrides_;
    for_rates_ = previous.for_rates_;
    for_places_ = previous.for_places_;
    for_running_ = previous.for_running_;
    place_ = previous.place_;
    for_windows_ = previous.for_windows_;
    for_debts_ = previous.for_debts_;
    if (windows_.attach(for_windows_.at, for_windows_.size) &&
        debts_.attach(for_debts_.at, for_debts_.size) &&
        counters_.attach(for_counters_.at, for_counters_.size) &&
        nodes_.attach(for_nodes_.at, for_nodes_.size) &&
        last_hour_.attach(for_last_hour_.at, for_last_hour_.size) &&
        offenders_.attach(for_offenders_.at, for_offenders_.size) &&
        hot_keys_.attach(for_hot_keys_.at, for_hot_keys_.size) &&
        overrides_.attach(for_overrides_.at, for_overrides_.size) &&
        seen_rates_.attach(for_rates_.at, for_rates_.size) &&
        places_.attach(for_places_.at, for_places_.size) &&
        running_.attach(for_running_.at, for_running_.size)) {
        fixed_ = previous.fixed_;
        return true;
    }
    return false;
}

/// Each part begins on a cache line; the fixed part comes out of what is for charges that wait. False if the
/// zone is too small.
bool Zone::create(void* at, std::size_t size, const Made& made) noexcept {
    char* memory = static_cast<char*>(at);
    const char* const end = memory + size;
    const std::size_t workers = made.workers;
    const HashKey& key = made.key;
    enter_process();
    size_ = made.size;
    const auto part = [&](std::size_t bytes) {
        const Span span{memory, bytes / DebtTable::alignment * DebtTable::alignment};
        memory += span.size;
        return span;
    };
    fixed_ = new (memory) Fixed;
    fixed_->machine = made.machine;
    const std::size_t fixed = part(sizeof(Fixed) + DebtTable::alignment - 1).size;
    const std::size_t counting = std::min(size / counting_part, most_counting);
    const std::size_t besides = counting - std::min(counting, std::max(counting / 2, least_counters));
    for_last_hour_ = part(besides / 3);
    for_offenders_ = part(std::min(besides / 3, Offenders::bytes_for(workers)));
    for_nodes_ = part(std::min(besides / 3, NodeBoard::bytes_for(NodeBoard::most_nodes)));
    for_counters_ = part(counting - for_last_hour_.size - for_offenders_.size - for_nodes_.size);
    for_overrides_ =
        part(std::clamp(size / override_part, OverrideTable::bytes_for(1) + OverrideTable::alignment,
                        OverrideTable::bytes_for(OverrideTable::most) + OverrideTable::alignment));
    for_debts_ = part(std::min(size / waiting_part, most_waiting) - fixed - for_overrides_.size);
    for_rates_ = part(std::min(size / rates_part, most_rates));
    const std::size_t hot_keys =
        std::min(size / hot_keys_part, HotKeyBoard::bytes_for(HotKeyBoard::most_shards));
    for_hot_keys_ = part(hot_keys < HotKeyBoard::bytes_for(1) ? HotKeyBoard::bytes_for(0) : hot_keys);
    for_places_ = part(std::min(size / places_part,
                                WorkerPlaces::bytes_for(places_a_worker * std::max(workers, least_workers))));
    const std::size_t places = WorkerPlaces::places_in(for_places_.size);
    for_running_ = part(std::clamp(size / running_part, RunningCounts::least_bytes_for(places),
                                   RunningCounts::bytes_for(places)));
    for_windows_ = {memory, static_cast<std::size_t>(end - memory)};
    const Millis now = now_millis();
    return windows_.create(for_windows_.at, for_windows_.size, key) &&
           nodes_.create(for_nodes_.at, for_nodes_.size) &&
           debts_.create(for_debts_.at, for_debts_.size, key) &&
           counters_.create(for_counters_.at, for_counters_.size, workers, now) &&
           last_hour_.create(for_last_hour_.at, for_last_hour_.size) &&
           offenders_.create(for_offenders_.at, for_offenders_.size, workers, now) &&
           hot_keys_.create(for_hot_keys_.at, for_hot_keys_.size) &&
           overrides_.create(for_overrides_.at, for_overrides_.size) &&
           seen_rates_.create(for_rates_.at, for_rates_.size) &&
           places_.create(for_places_.at, for_places_.size) &&
           running_.create(for_running_.at, for_running_.size, places);
}

void Zone::on_more(void (*call)() noexcept) noexcept {
    Worker::current().part<Notice>().call = call;
}

void Zone::note_tokens() noexcept {
    walk().note();
    notice_more();
}

void Zone::note_unanswered() noexcept {
    notice_more();
}

void Zone::note_waiting() noexcept {
    if (is_leaving()) {
        notice_more();
    }
}

void Zone::seek_a_place() noexcept {
    const std::uint32_t now = ticks_now();
    if (place_sought_ == 0 || now - place_sought_ >= seek_place || places_.deaths() != deaths_sought_) {
        place_sought_ = now != 0 ? now : 1;
        deaths_sought_ = places_.deaths();
        place_ = places_.take(lock_user());
    }
}

/// The master, which makes the zone, serves no requests and takes none.
std::optional<SharedSlots> Zone::slots() noexcept {
    if (!place_) {
        seek_a_place();
    }
    return place_ ? std::optional<SharedSlots>(std::in_place, windows_, places_, *place_) : std::nullopt;
}

void Zone::leave_place() noexcept {
    if (place_) {
        places_.leave(*place_);
        place_.reset();
    }
}

bool Zone::leave() noexcept {
    last_ = last_ || windows_.leave(parent_number());
    return last_;
}

void Zone::enter_process() noexcept {
    const LockUser user = lock_user();
    windows_.set_user(user);
    debts_.set_user(user);
    counters_.set_user(user);
    nodes_.set_user(user);
    last_hour_.set_user(user);
    offenders_.set_user(user);
    hot_keys_.set_user(user);
    overrides_.set_user(user);
}

}  // namespace rate_limit
