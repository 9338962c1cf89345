#include "t/worlds/machines.h"

#include <algorithm>
#include <utility>

#include "core/topology/shared_topology.h"

namespace rate_limit::world {

Machines::Machines(Events& events, Network& network, const Plan& plan)
    : events_(events),
      network_(network),
      workers_(plan.machines.workers),
      sites_(plan.sites),
      servers_(plan.partable()),
      setups_(plan.setups),
      last_crashes_(plan.sites.regions()) {
    for (const Fault<MachineFault>& fault : plan.machines.faults) {
        if (fault.kind == MachineFault::crash) {
            Micros& last = last_crashes_[sites_.region_of(fault.where)];
            last = std::max(last, fault.at + fault.life);
        }
    }
    for (const WallClock& clock : plan.machines.clocks) {
        places_.push_back({clock, nullptr, {}, 0});
    }
    std::for_each(places_.begin(), places_.end(), [this](Place& place) { make(place); });
}

void Machines::make(Place& place) {
    const auto number = static_cast<std::size_t>(&place - places_.data());
    place.machine =
        std::make_unique<Machine>(events_, setup_of(place), Loop::usual_wall_clock, place.clock, number);
    place.memory = memories_++;
    start(place);
}

/// The next one of all of its region, in their order, and from the first on again.
const Setup& Machines::setup_of(const Place& place, std::uint64_t number) const {
    const std::size_t regions = sites_.regions();
    const auto machine = static_cast<std::size_t>(&place - places_.data());
    return setups_[number % (setups_.size() / regions) * regions + sites_.region_of(machine)];
}

void Machines::start(Place& place) {
    place.serving.clear();
    for (std::size_t number = 0; number < workers_; ++number) {
        place.serving.push_back(&place.machine->start_worker(number));
    }
}

Machines::Choice Machines::choose(Chance& chance) {
    const Place& place = chance.one_of(places_);
    const auto number = static_cast<std::size_t>(chance.below(static_cast<std::int64_t>(workers_)));
    return {place.machine == nullptr ? nullptr : place.serving[number], place.memory};
}

Machines::Choice Machines::choose_running(Chance& chance) {
    Choice choice = choose(chance);
    while (choice.worker == nullptr) {
        choice = choose(chance);
    }
    return choice;
}

std::vector<Machines::Choice> Machines::all_choices() {
    std::vector<Choice> all;
    for (const Place& place : places_) {
        for (WorkerProcess* worker : place.serving) {
            all.push_back({worker, place.memory});
        }
    }
    return all;
}

void Machines::begin(const Fault<MachineFault>& fault, User& user) {
    Place& place = places_[fault.where];
    if (place.machine == nullptr) {
        return;
    }
    const std::uint64_t bits = fault.bits;
    switch (fault.kind) {
        case MachineFault::leave:
            replace(place, bits % workers_, user);
            break;
        case MachineFault::kill:
            kill(place, bits, user);
            break;
        case MachineFault::crash:
            crash(place, user);
            break;
        case MachineFault::stall:
            place.serving[bits % workers_]->loop().stall(fault.life);
            break;
        case MachineFault::reload:
            reload(place, place.machine->setup(), user);
            break;
        case MachineFault::change:
            reload(place, setup_of(place, bits), user);
            break;
        case MachineFault::clock_set:
            place.machine->clock().stepped += step_of(fault);
            break;
        case MachineFault::partition:
            part(fault, true);
            break;
    }
}

void Machines::end(const Fault<MachineFault>& fault) {
    Place& place = places_[fault.where];
    if (fault.kind == MachineFault::crash && place.machine == nullptr) {
        make(place);
    } else if (fault.kind == MachineFault::partition) {
        part(fault, false);
    }
}

void Machines::part(const Fault<MachineFault>& fault, bool parted) {
    network_.path(fault.where, servers_[fault.bits % servers_.size()]).parted = parted;
}

void Machines::put_right(User& user) {
    for (Place& place : places_) {
        if (place.machine != nullptr && &place.machine->setup() != &setup_of(place)) {
            reload(place, setup_of(place), user);
        }
    }
}

void Machines::leave() {
    for_each([](Machine& machine) {
        for (const auto& worker : machine.workers()) {
            worker->leave();
        }
    });
}

void Machines::replace(Place& place, std::size_t number, User& user) {
    WorkerProcess& worker = *std::exchange(place.serving[number], &place.machine->start_worker(number));
    worker.leave();
    end_if_over(worker.loop().pid(), place, user);
}

/// One that serves, or one that leaves.
void Machines::kill(Place& place, std::uint64_t bits, User& user) {
    const auto& workers = place.machine->workers();
    WorkerProcess& worker = *workers[bits % workers.size()];
    place.machine->kill_worker(worker, [&] { user.vanish(worker, false); });
    const auto served = std::find(place.serving.begin(), place.serving.end(), &worker);
    if (served != place.serving.end()) {
        *served = &place.machine->start_worker(static_cast<std::size_t>(served - place.serving.begin()));
    }
}

void Machines::crash(Place& place, User& user) {
    place.machine->cut_off();
    for (const auto& worker : place.machine->workers()) {
        user.vanish(*worker, true);
    }
    place.clock = place.machine->clock();
    place.serving.clear();
    place.machine.reset();
}

void Machines::reload(Place& place, const Setup& setup, User& user) {
    place.machine->configure(setup);
    const std::vector<WorkerProcess*> before = place.serving;
    start(place);
    for (WorkerProcess* worker : before) {
        worker->leave();
        end_if_over(worker->loop().pid(), place, user);
    }
}

/// A worker that leaves ends when its requests have ended and nothing keeps it; unless it is killed before.
void Machines::end_if_over(std::uint32_t pid, Place& place, User& user) {
    if (place.machine == nullptr) {
        return;
    }
    const auto& workers = place.machine->workers();
    const auto found = std::find_if(workers.begin(), workers.end(),
                                    [pid](const auto& worker) { return worker->loop().pid() == pid; });
    if (found == workers.end()) {
        return;
    }
    WorkerProcess& worker = **found;
    if (user.uses(worker) || worker.is_kept() || worker.loop().stalls()) {
        events_.in(100'000, [this, pid, &place, &user] { end_if_over(pid, place, user); });
        return;
    }
    user.forget(worker);
    place.machine->end_worker(worker);
}

bool Machines::all_know(std::size_t region, const std::string& former, const std::string& primary) const {
    if (events_.now() <= last_crashes_[region]) {
        return false;  // a machine that starts again learns anew, perhaps from who does not know yet
    }
    return std::all_of(places_.begin(), places_.end(), [&](const Place& place) {
        if (sites_.region_of(static_cast<std::size_t>(&place - places_.data())) != region) {
            return true;
        }
        const StoreConf& store = *place.machine->workers().front()->configuration().stores.front();
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
