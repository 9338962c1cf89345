#include "t/worlds/random_world.h"

#include <algorithm>
#include <utility>

#include "limiter/charges/losses.h"
#include "limiter/counters.h"

namespace rate_limit::world {

namespace {

constexpr Micros second = 1'000'000;

/// By then every connection is made again, every deadline is over, and every worker has left.
constexpr Micros heals_in = 60 * second;

/// How long a request may wait beyond its timeout: timers fire by the millisecond.
constexpr Msec late = 2;

/// How many charges, refunds and tokens nobody can be sure of, as the machine has counted them.
std::int64_t uncertain(Zone& zone, const StoreConf& store) {
    std::uint64_t sum = 0;
    for (const ShardConf& shard : store.shards) {
        const Counters<Loss> losses(zone.counters(), {store.name, shard.name, {}});
        for (std::size_t i = 0; i < loss_count; ++i) {
            sum += losses.count(static_cast<Loss>(i));
        }
    }
    return static_cast<std::int64_t>(sum);
}

}  // namespace

RandomWorld::RandomWorld(std::uint64_t seed, std::ostream* log)
    : plan_(seed), chance_(~seed), log_(log), truths_(plan_.setup.limits.front()) {
    for (std::size_t i = 0; i < plan_.setup.stores.front().shards.size(); ++i) {
        servers_.push_back(std::make_unique<Redis>(events_, network_, address_of_server(i), plan_.ahead[i]));
    }
    for (std::size_t i = 0; i < plan_.machines; ++i) {
        machines_.push_back(std::make_unique<Machine>(events_, plan_.setup));
        for (std::size_t worker = 0; worker < plan_.workers; ++worker) {
            machines_.back()->start_worker();
        }
    }
}

RandomWorld::~RandomWorld() {
    visits_.clear();
}

void RandomWorld::say(const std::string& what) {
    if (log_ != nullptr) {
        *log_ << events_.now() << ' ' << what << '\n';
    }
}

std::vector<std::string> RandomWorld::run() {
    for (const Fault& fault : plan_.faults) {
        events_.at(fault.at, [this, &fault] { begin(fault); });
        events_.at(fault.at + fault.life, [this, &fault] { end(fault); });
    }
    events_.in(1'000, [this] { arrive(); });
    events_.pass(plan_.lasts + heals_in / 2);
    for (const auto& machine : machines_) {
        for (const auto& worker : machine->workers()) {
            worker->leave();
        }
    }
    events_.pass(heals_in / 2);
    compare_at_the_end();
    std::vector<std::string> failures = truths_.failures();
    for (std::string& failure : failures) {
        failure += " (" + plan_.setup.limits.front().mode + ")";
    }
    return failures;
}

void RandomWorld::arrive() {
    if (events_.now() >= plan_.lasts || !truths_.failures().empty()) {
        return;
    }
    begin_request();
    events_.in(1 + chance_.below(2 * plan_.pause), [this] { arrive(); });
}

void RandomWorld::begin_request() {
    Machine& machine =
        *machines_[static_cast<std::size_t>(chance_.below(static_cast<std::int64_t>(machines_.size())))];
    // Of those that do not leave: there are always as many as the plan says, and they come last.
    const std::size_t count = machine.workers().size();
    const auto choice = static_cast<std::size_t>(chance_.below(static_cast<std::int64_t>(plan_.workers)));
    WorkerProcess& worker = *machine.workers()[count - 1 - choice];
    const auto key = static_cast<std::size_t>(chance_.below(plan_.keys));
    const std::int64_t cost = plan_.setup.limits.front().running ? 1 : chance_.between(1, plan_.most_cost);
    visits_.push_back(std::make_unique<Visit>());
    Visit& visit = *visits_.back();
    visit.key = key;
    visit.begun = events_.now();
    visit.request = std::make_unique<ClientRequest>(worker, "client" + std::to_string(key), cost,
                                                    [this, &visit](ClientRequest&) { decided(visit); });
    ++requests_;
    visit.request->begin();
    if (!visit.request->is_decided() && chance_.percent(plan_.aborted)) {
        events_.in(chance_.below(1'000), [this, &visit] {
            if (!visit.request->is_decided()) {
                say("aborts key " + std::to_string(visit.key));
                visit.request->abort();
            }
        });
    }
}

void RandomWorld::decided(Visit& visit) {
    const AppliedLimit& applied = visit.request->applied(0);
    say("key " + std::to_string(visit.key) + " cost " + std::to_string(applied.cost) + ": " +
        std::string(to_string(visit.request->outcome)));
    if (visit.request->waited() > plan_.setup.stores.front().check_timeout + late) {
        truths_.fail("a request waited for " + std::to_string(visit.request->waited()) + " ms");
    }
    if (applied.verdict.outcome == Outcome::passed) {
        visit.number =
            truths_.admit(visit.key, applied.cost, applied.verdict.window.reset, visit.begun, events_.now());
    }
    if (visit.request->is_admitted()) {
        events_.in(1 + chance_.below(plan_.longest), [this, &visit] { end_request(visit); });
    }
}

void RandomWorld::end_request(Visit& visit) {
    const AppliedLimit& applied = visit.request->applied(0);
    if (applied.verdict.outcome == Outcome::passed && plan_.setup.limits.front().running) {
        truths_.leave(visit.key);
    }
    visit.request->end(chance_.percent(plan_.exempt));
    truths_.charge(visit.key, applied.charged);
    if (applied.verdict.outcome == Outcome::passed && applied.charged == 0) {
        truths_.give_back(visit.key, visit.number, applied.cost, applied.verdict.window.reset);
    }
}

void RandomWorld::begin(const Fault& fault) {
    say(std::string("begins: ") + name_of(fault.kind) + " " + std::to_string(fault.server));
    if (fault.kind == FaultKind::leave) {
        replace_worker(*machines_[fault.server], fault.bits);
        return;
    }
    Redis& server = *servers_[fault.server];
    switch (fault.kind) {
        case FaultKind::reset:
            server.reset_connections();
            break;
        case FaultKind::slow:
            server.link().there += static_cast<Micros>(fault.bits % 1'000'000);
            server.link().back += static_cast<Micros>(fault.bits / 1'000'000 % 1'000'000);
            break;
        case FaultKind::silent:
            server.link().silent = true;
            break;
        case FaultKind::refused:
            server.link().refuses = true;
            break;
        case FaultKind::pause:
            server.pause();
            break;
        case FaultKind::restart:
            server.kill(true);
            break;
        case FaultKind::flush:
            server.server().forget_scripts();
            break;
        case FaultKind::loading:
            server.server().state.loading = true;
            break;
        case FaultKind::oom:
            server.server().state.out_of_memory = true;
            break;
        case FaultKind::leave:
            break;
    }
}

/// All that is wrong with the server is over, also what another fault has done: so nothing lasts for ever.
void RandomWorld::end(const Fault& fault) {
    if (fault.kind == FaultKind::leave) {
        return;
    }
    say(std::string("ends: ") + name_of(fault.kind) + " " + std::to_string(fault.server));
    Redis& server = *servers_[fault.server];
    server.link() = Link{};
    server.server().state.loading = false;
    server.server().state.out_of_memory = false;
    server.start();
    server.resume();
}

void RandomWorld::replace_worker(Machine& machine, std::uint64_t bits) {
    const std::size_t count = machine.workers().size();
    const std::size_t which = count - 1 - bits % plan_.workers;
    WorkerProcess& worker = *machine.workers()[which];
    worker.leave();
    machine.start_worker();
    machine.move_to_front(worker);
    end_if_over(machine, worker);
}

/// A worker that leaves ends when its requests have ended and nothing keeps it.
void RandomWorld::end_if_over(Machine& machine, WorkerProcess& worker) {
    const bool busy = std::any_of(visits_.begin(), visits_.end(), [&worker](const auto& visit) {
        return visit->request->is_of(worker) && !visit->request->is_over();
    });
    if (busy || worker.is_kept()) {
        events_.in(100'000, [this, &machine, &worker] { end_if_over(machine, worker); });
        return;
    }
    visits_.erase(std::remove_if(visits_.begin(), visits_.end(),
                                 [&worker](const auto& visit) { return visit->request->is_of(worker); }),
                  visits_.end());
    machine.end_worker(worker);
}

void RandomWorld::compare_at_the_end() {
    if (!truths_.lasts()) {
        return;
    }
    std::int64_t unsure = 0;
    for (const auto& machine : machines_) {
        unsure += uncertain(machine->zone(), *machine->workers().front()->configuration().stores.front());
    }
    for (std::int64_t key = 0; key < plan_.keys; ++key) {
        const std::string name = "rl:default/3600:client" + std::to_string(key);
        std::int64_t stored = 0;
        for (const auto& server : servers_) {
            stored += server->used(name);
        }
        truths_.compare(static_cast<std::size_t>(key), stored, unsure * plan_.most_cost);
    }
}

}  // namespace rate_limit::world
