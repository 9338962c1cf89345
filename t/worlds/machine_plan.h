#pragma once

#include <cstddef>
#include <vector>

#include "t/world/loop.h"
#include "t/worlds/fault.h"

namespace rate_limit::world {

/// The faults that may befall the machines of a world and their workers.
enum class MachineFault : unsigned char {
    leave,      ///< a worker leaves, and another one takes its place
    kill,       ///< a worker dies without a word, and another one takes its place
    crash,      ///< a machine dies with all that its memory holds, and starts again after a while
    stall,      ///< a worker does not run, for a while
    reload,     ///< all workers of a machine leave, others come with the same configuration
    change,     ///< the same with another configuration
    clock_set,  ///< the wall clock of a machine is set
    partition,  ///< nothing passes between a machine and one server, and nobody is told, for a while
};
constexpr std::size_t machine_faults = static_cast<std::size_t>(MachineFault::partition) + 1;

/// The kinds before this one are drawn together, later ones by themselves, as those of servers are.
constexpr std::size_t machine_kinds_drawn_together = static_cast<std::size_t>(MachineFault::partition);

const char* name_of(MachineFault kind) noexcept;
constexpr const char* place_of(MachineFault) noexcept {
    return "machine";
}

/// By how much MachineFault::clock_set sets a clock forward; below 0: back.
Micros step_of(const Fault<MachineFault>& fault) noexcept;

/// The machines of a world, and what befalls them.
struct MachinePlan {
    /// `lasts`: faults come until then. `sites`: of the world, in each of which there is a machine.
    MachinePlan(Chance chance, Micros lasts, std::size_t sites);

    /// Adds faults of the kinds from machine_kinds_drawn_together on, in some worlds.
    void add_later(Chance chance, Micros lasts);

    std::size_t workers = 1;        ///< of each machine
    std::vector<WallClock> clocks;  ///< of each machine
    std::vector<Fault<MachineFault>> faults;

    /// Lets workers run some time after they have read the clock, in some worlds: of all machines as long.
    void add_late_clocks(Chance chance);

    /// Whether the machines' wall clocks tell the same, from begin to end.
    bool clocks_agree() const noexcept;

    /// How far clocks are set forward in all, run ahead while requests come, and are read late: so much more
    /// time may pass by one of them.
    Micros gained(Micros lasts) const noexcept;

    /// How far two machines' clocks may be apart, or one from what it was, while requests come and it heals.
    Micros apart(Micros lasts) const noexcept;

    /// Whether something of the kind may come.
    bool has(MachineFault kind) const noexcept;
};

}  // namespace rate_limit::world
