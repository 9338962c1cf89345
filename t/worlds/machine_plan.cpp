#include "t/worlds/machine_plan.h"

#include <array>

namespace rate_limit::world {

const char* name_of(MachineFault kind) noexcept {
    constexpr std::array<const char*, machine_faults> names{"leave"};
    return names[static_cast<std::size_t>(kind)];
}

MachinePlan::MachinePlan(Chance chance, Micros lasts)
    : machines(static_cast<std::size_t>(chance.between(1, 3))),
      workers(static_cast<std::size_t>(chance.between(1, 2))),
      faults(draw_faults<MachineFault>(chance, machine_faults, 10, machines, lasts)) {}

}  // namespace rate_limit::world
