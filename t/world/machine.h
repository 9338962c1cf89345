#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
    const Loop& loop() const noexcept { return loop_; }
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
    /// `setup` outlives it. Throws std::invalid_argument where it makes no sense.
    Machine(Events& events, const Setup& setup, Millis wall_clock = Loop::usual_wall_clock,
            const WallClock& clock = {}, std::size_t number = 0);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    Events& events() noexcept { return events_; }
    const Setup& setup() const noexcept { return *setup_; }
    Millis wall_clock() const noexcept { return wall_clock_; }

    /// For Network::path().
    std::size_t number() const noexcept { return number_; }
    WallClock& clock() noexcept { return clock_; }
    Zone& zone() noexcept { return zone_; }
    const TopologyMemory& topologies() const noexcept { return topologies_; }

    std::deque<SharedState>& shared_overrides() noexcept { return shared_overrides_; }

    /// The master process's number.
    std::uint32_t pid() const noexcept { return master_.pid(); }

    WorkerProcess& start_worker() { return start_worker(workers_.size()); }

    /// `number`: among the machine's workers; one that takes another's place has the same.
    WorkerProcess& start_worker(std::size_t number);

    /// Reads another configuration, as a reload does: workers that start from now on have it. It outlives the
    /// machine, and has a zone of the same size and the same stores that discover their servers. Throws
    /// std::invalid_argument where it makes no sense.
    void configure(const Setup& setup);

    /// It has left, and ends.
    void end_worker(WorkerProcess& worker);

    /// The worker is killed: its connections end, and what it had in the memory stays as it is. `forget`
    /// destroys its requests.
    void kill_worker(WorkerProcess& worker, const std::function<void()>& forget);

    /// The machine is about to lose its power, which is to be destroyed: nothing leaves it any more.
    void cut_off() noexcept;

    const std::vector<std::unique_ptr<WorkerProcess>>& workers() const noexcept { return workers_; }

private:
    /// Pages of zeros, of which only those that somebody writes to take memory.
    struct Memory {
        explicit Memory(std::size_t bytes);
        ~Memory();
        Memory(const Memory&) = delete;
        Memory& operator=(const Memory&) = delete;

        const std::size_t size;
        char* const at;
    };

    Events& events_;
    const Setup* setup_;
    const Millis wall_clock_;
    const std::size_t number_;
    WallClock clock_;
    Loop master_;  // whose turn it is while the zone is made
    Memory memory_;
    Zone zone_;
    std::deque<SharedState> shared_overrides_;  // in memory that all workers share
    TopologyMemory topologies_;
    std::vector<std::unique_ptr<WorkerProcess>> workers_;
};

}  // namespace rate_limit::world
