#pragma once

#include <cstdint>
#include <vector>

#include "t/world/chance.h"
#include "t/world/configured.h"
#include "t/world/events.h"

namespace rate_limit::world {

/// The requests of a world, and the limits that count them.
struct TrafficPlan {
    explicit TrafficPlan(Chance chance);

    std::vector<LimitSetup> limits;
    OnError on_error = OnError::allow;
    Micros pause = 0;    ///< between two requests, on the average
    Micros longest = 0;  ///< of requests
    std::int64_t keys = 1;
    std::int64_t most_cost = 1;
    int aborted = 0;  ///< of a hundred requests
    int exempt = 0;   ///< the same
};

}  // namespace rate_limit::world
