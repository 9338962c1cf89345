#include "t/world/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "limiter/log_throttle.h"
#include "limiter/overrides/effect.h"
#include "limiter/overrides/shared_watch.h"
#include "limiter/store/counter_log.h"
#include "limiter/store/store.h"
#include "limiter/tallies/tallies.h"
#include "limiter/upkeep/upkeep.h"
#include "limiter/wire/board_entry.h"

namespace rate_limit::world {

WorkerProcess::WorkerProcess(Machine& machine, std::size_t number, std::uint32_t pid)
    : loop_(machine.events(), pid, machine.wall_clock()) {
    loop_.number = number;
    loop_.turn([&] {
        if (!zone_.adopt(machine.zone())) {
            throw std::runtime_error("the zone cannot be shared");
        }
        configured_ = std::make_unique<Configured>(machine.setup(), zone_, machine.topologies().all());
        if (!make_tallies(*configured_) || !make_overrides(*configured_)) {
            throw std::bad_alloc();
        }
        loop_.configuration = configured_.get();
        zone_.enter_process();
        zone_.nodes().begin_worker(worker_number(), now_millis());
        start_discovery(*configured_);
        start_upkeep(*configured_);
        start_shared_watch();
        start_counter_log();
    });
}

WorkerProcess::~WorkerProcess() {
    loop_.turn([this] {
        zone_.leave();
        zone_.leave_place();
        shut_down_stores(*configured_);
        LogThrottle::tell_all_rest();
        configured_.reset();
        loop_.configuration = nullptr;
    });
}

void WorkerProcess::leave() {
    loop_.leaving = true;
}

void Machine::Deleter::operator()(void* memory) const noexcept {
    std::free(memory);
}

Machine::Machine(Events& events, const Setup& setup, Millis wall_clock)
    : events_(events),
      setup_(setup),
      wall_clock_(wall_clock),
      master_(events, events.new_pid(), wall_clock),
      memory_(std::aligned_alloc(4096, setup.zone_size)),
      topologies_(setup) {
    if (memory_ == nullptr) {
        throw std::bad_alloc();
    }
    std::memset(memory_.get(), 0, setup.zone_size);
    master_.turn([this] {
        Zone::Made made{setup_.zone_size, 2, {}, 0};
        random_bytes(reinterpret_cast<unsigned char*>(&made.key), sizeof made.key);
        random_bytes(reinterpret_cast<unsigned char*>(&made.machine), sizeof made.machine);
        if (!zone_.create(memory_.get(), setup_.zone_size, made)) {
            throw std::invalid_argument("the zone is too small");
        }
        Configured configured(setup_, zone_, topologies_.all());
        make_tallies(configured);
        place_counters(configured);
        zone_.nodes().begin_configuration(now_millis());
    });
}

Machine::~Machine() = default;

WorkerProcess& Machine::start_worker() {
    workers_.push_back(std::make_unique<WorkerProcess>(*this, workers_.size(), events_.new_pid()));
    return *workers_.back();
}

void Machine::move_to_front(const WorkerProcess& worker) {
    const auto found = std::find_if(workers_.begin(), workers_.end(),
                                    [&worker](const auto& each) { return each.get() == &worker; });
    std::rotate(workers_.begin(), found, found + 1);
}

void Machine::end_worker(WorkerProcess& worker) {
    workers_.erase(std::find_if(workers_.begin(), workers_.end(),
                                [&worker](const auto& each) { return each.get() == &worker; }));
}

}  // namespace rate_limit::world
