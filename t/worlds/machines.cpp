#include "t/worlds/machines.h"

#include <algorithm>

#include "core/topology/shared_topology.h"
#include "limiter/charges/losses.h"
#include "limiter/counters.h"

namespace rate_limit::world {

namespace {

std::int64_t uncertain_of(Zone& zone, const StoreConf& store) {
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

Machines::Machines(Events& events, const MachinePlan& plan, const Setup& setup)
    : events_(events), workers_(plan.workers) {
    for (std::size_t i = 0; i < plan.machines; ++i) {
        machines_.push_back(std::make_unique<Machine>(events, setup));
        for (std::size_t worker = 0; worker < workers_; ++worker) {
            machines_.back()->start_worker();
        }
    }
}

/// One that does not leave: there are always as many as the plan says, and they come last.
WorkerProcess& Machines::choose(Chance& chance) {
    const Machine& machine = *chance.one_of(machines_);
    const std::size_t count = machine.workers().size();
    const auto choice = static_cast<std::size_t>(chance.below(static_cast<std::int64_t>(workers_)));
    return *machine.workers()[count - 1 - choice];
}

void Machines::begin(const Fault<MachineFault>& fault, User& user) {
    switch (fault.kind) {
        case MachineFault::leave:
            replace_worker(*machines_[fault.where], fault.bits, user);
            break;
    }
}

void Machines::end(const Fault<MachineFault>& fault) {
    switch (fault.kind) {
        case MachineFault::leave:
            break;
    }
}

void Machines::leave() {
    for (const auto& machine : machines_) {
        for (const auto& worker : machine->workers()) {
            worker->leave();
        }
    }
}

void Machines::replace_worker(Machine& machine, std::uint64_t bits, User& user) {
    const std::size_t count = machine.workers().size();
    WorkerProcess& worker = *machine.workers()[count - 1 - bits % workers_];
    worker.leave();
    machine.start_worker();
    machine.move_to_front(worker);
    end_if_over(machine, worker, user);
}

/// A worker that leaves ends when its requests have ended and nothing keeps it.
void Machines::end_if_over(Machine& machine, WorkerProcess& worker, User& user) {
    if (user.uses(worker) || worker.is_kept()) {
        events_.in(100'000, [this, &machine, &worker, &user] { end_if_over(machine, worker, user); });
        return;
    }
    user.forget(worker);
    machine.end_worker(worker);
}

std::int64_t Machines::uncertain() {
    std::int64_t sum = 0;
    for (const auto& machine : machines_) {
        sum += uncertain_of(machine->zone(), *machine->workers().front()->configuration().stores.front());
    }
    return sum;
}

bool Machines::all_know(const std::string& former, const std::string& primary) const {
    return std::all_of(machines_.begin(), machines_.end(), [&](const auto& machine) {
        const StoreConf& store = *machine->workers().front()->configuration().stores.front();
        std::string bytes;
        std::uint64_t generation = 0;
        Topology topology;
        if (store.topology == nullptr || !store.topology->read(bytes, generation) ||
            !decode(bytes, topology)) {
            return false;
        }
        const auto has = [&topology](const std::string& address) {
            return std::any_of(topology.groups.begin(), topology.groups.end(),
                               [&](const Group& group) { return group.primary.text() == address; });
        };
        return has(primary) && !has(former);
    });
}

}  // namespace rate_limit::world
