#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "limiter/zone.h"
#include "t/world/configured.h"
#include "t/world/events.h"
#include "t/world/loop.h"
#include "t/world/topology_memory.h"

namespace rate_limit::world {

class Machine;

/// A worker of a machine: the limiter with a loop of its own.
class WorkerProcess {
public:
    WorkerProcess(Machine& machine, std::size_t number, std::uint32_t pid);
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    Loop& loop() noexcept { return loop_; }
    const Configured& configuration() const noexcept { return *configured_; }
    Zone& zone() noexcept { return zone_; }

    /// It begins to leave, as nginx's workers do at a reload or a quit: it takes no more requests. It is done
    /// when nothing keeps it.
    void leave();

    /// Whether a timer keeps a leaving worker.
    bool is_kept() const noexcept { return loop_.is_kept(); }

private:
    Loop loop_;
    Zone zone_;
    std::unique_ptr<Configured> configured_;
};

/// One machine: a clock, and memory that its workers share.
class Machine {
public:
    /// `setup` outlives it.
    Machine(Events& events, const Setup& setup, Millis wall_clock = Loop::usual_wall_clock);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    Events& events() noexcept { return events_; }
    const Setup& setup() const noexcept { return setup_; }
    Millis wall_clock() const noexcept { return wall_clock_; }
    Zone& zone() noexcept { return zone_; }
    const TopologyMemory& topologies() const noexcept { return topologies_; }

    WorkerProcess& start_worker();

    /// It has left, and ends.
    void end_worker(WorkerProcess& worker);

    /// Lets the worker stand before those that take requests.
    void move_to_front(const WorkerProcess& worker);

    const std::vector<std::unique_ptr<WorkerProcess>>& workers() const noexcept { return workers_; }

private:
    struct Deleter {
        void operator()(void* memory) const noexcept;
    };

    Events& events_;
    const Setup& setup_;
    const Millis wall_clock_;
    Loop master_;  // whose turn it is while the zone is made
    std::unique_ptr<void, Deleter> memory_;
    Zone zone_;
    TopologyMemory topologies_;
    std::vector<std::unique_ptr<WorkerProcess>> workers_;
};

}  // namespace rate_limit::world
