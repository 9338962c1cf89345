#pragma once

#include <cstddef>
#include <vector>

#include "t/worlds/fault.h"

namespace rate_limit::world {

/// What may befall the machines of a world and their workers.
enum class MachineFault : unsigned char {
    leave,  ///< a worker leaves, and another one takes its place
};
constexpr std::size_t machine_faults = static_cast<std::size_t>(MachineFault::leave) + 1;

const char* name_of(MachineFault kind) noexcept;

/// The machines of a world, and what befalls them.
struct MachinePlan {
    /// `lasts`: faults come until then.
    MachinePlan(Chance chance, Micros lasts);

    std::size_t machines = 1;
    std::size_t workers = 1;  ///< of each machine
    std::vector<Fault<MachineFault>> faults;
};

}  // namespace rate_limit::world
