#pragma once

#include <cstdint>
#include <vector>

#include "t/worlds/machine_plan.h"
#include "t/worlds/server_plan.h"
#include "t/worlds/traffic_plan.h"

namespace rate_limit::world {

/// All that is random about one world, drawn from its seed before it begins. Each part draws from numbers of
/// its own: what one draws changes none of the others.
struct Plan {
    explicit Plan(std::uint64_t seed);

    Micros lasts;  ///< requests and faults come until then; it heals afterwards
    ServerPlan servers;
    MachinePlan machines;
    TrafficPlan traffic;
    Setup setup;    ///< what each machine is configured with
    Chance course;  ///< what requests choose as they come
};

}  // namespace rate_limit::world
