#include "t/world/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "limiter/log_throttle.h"
#include "limiter/overrides/effect.h"
#include "limiter/overrides/shared_overrides.h"
#include "limiter/store/counter_log.h"
#include "limiter/store/store.h"
#include "limiter/tallies/tallies.h"
#include "limiter/upkeep/upkeep.h"
#include "limiter/wire/health/board_entry.h"

namespace rate_limit::world {

WorkerProcess::WorkerProcess(Machine& machine, std::size_t number, std::uint32_t pid)
    : loop_(machine.events(), pid, machine.wall_clock()) {
    loop_.number = number;
    loop_.parent = machine.pid();
    loop_.machine = machine.number();
    loop_.clock = &machine.clock();
    loop_.connections = machine.setup().connections;
    loop_.turn([&] {
        if (!zone_.adopt(machine.zone())) {
            throw std::runtime_error("the zone cannot be shared");
        }
        configured_ = std::make_unique<Configured>(machine.setup(), zone_, machine.shared_overrides(),
                                                   machine.topologies().all());
        if (!make_tallies(*configured_) || !make_overrides(*configured_)) {
            throw std::bad_alloc();
        }
        loop_.configuration = configured_.get();
        zone_.enter_process();
        zone_.nodes().begin_worker(worker_number(), now_millis());
        start_stores(*configured_);
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

Machine::Memory::Memory(std::size_t bytes)
    : size(bytes),
      at(static_cast<char*>(
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (at == MAP_FAILED) {
        throw std::bad_alloc();
    }
}

Machine::Memory::~Memory() {
    munmap(at, size);
}

Machine::Machine(Events& events, const Setup& setup, Millis wall_clock, const WallClock& clock,
                 std::size_t number)
    : events_(events),
      setup_(&checked(setup)),
      wall_clock_(wall_clock),
      number_(number),
      clock_(clock),
      master_(events, events.new_pid(), wall_clock),
      memory_(setup.zone_size),
      topologies_(setup) {
    master_.clock = &clock_;
    master_.turn([this] {
        Zone::Made made{setup_->zone_size, 2, {}, 0};
        random_bytes(reinterpret_cast<unsigned char*>(&made.key), sizeof made.key);
        random_bytes(reinterpret_cast<unsigned char*>(&made.machine), sizeof made.machine);
        if (!zone_.create(memory_.at, memory_.size, made)) {
            throw std::invalid_argument("the zone is too small");
        }
    });
    configure(setup);
}

Machine::~Machine() = default;

void Machine::configure(const Setup& setup) {
    setup_ = &checked(setup);
    master_.turn([this] {
        Configured configured(*setup_, zone_, shared_overrides_, topologies_.all());
        make_tallies(configured);
        place_counters(configured);
        zone_.nodes().begin_configuration(now_millis());
    });
}

WorkerProcess& Machine::start_worker(std::size_t number) {
    workers_.push_back(std::make_unique<WorkerProcess>(*this, number, events_.new_pid()));
    return *workers_.back();
}

void Machine::end_worker(WorkerProcess& worker) {
    workers_.erase(std::find_if(workers_.begin(), workers_.end(),
                                [&worker](const auto& each) { return each.get() == &worker; }));
}

/// Its objects end as those of a worker that leaves do, but nobody sees what they do meanwhile: nothing is
/// sent, and the memory gets back what was in it.
void Machine::kill_worker(WorkerProcess& worker, const std::function<void()>& forget) {
    const std::unique_ptr<char[]> before(new char[memory_.size]);
    std::memcpy(before.get(), memory_.at, memory_.size);
    worker.loop().cut_off = true;
    forget();
    end_worker(worker);
    std::memcpy(memory_.at, before.get(), memory_.size);
}

void Machine::cut_off() noexcept {
    for (const auto& worker : workers_) {
        worker->loop().cut_off = true;
    }
}

}  // namespace rate_limit::world
