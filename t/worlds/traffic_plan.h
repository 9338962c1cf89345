#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "t/world/chance.h"
#include "t/world/configured.h"
#include "t/world/events.h"

namespace rate_limit::world {

/// When the next request of a world comes.
enum class Arrivals : unsigned char {
    steady,  ///< after a pause that is drawn each time
    bursts,  ///< many at one instant, then a long pause
    closed,  ///< when an earlier one has ended, of so many that there are at a time
};

/// The requests of a world, and the limits that count them.
struct TrafficPlan {
    /// `stores`: those that limits choose from, beside the machine's own memory. `lasts`: how long requests
    /// come.
    TrafficPlan(Chance chance, const std::vector<StoreSetup>& stores, Micros lasts);

    std::vector<LimitSetup> limits;
    OnError on_error = OnError::allow;
    Arrivals arrivals = Arrivals::steady;
    std::int64_t at_once = 1;  ///< of a burst, or of a closed loop
    Micros pause = 0;          ///< between two requests, on the average
    Micros longest = 0;        ///< of requests
    std::int64_t keys = 1;
    bool skewed = false;  ///< the key of number n comes 1/n times as often as the first
    std::int64_t most_cost = 1;
    int aborted = 0;      ///< of a hundred requests, before they are decided
    int exempt = 0;       ///< the same, by their status
    int costs_later = 0;  ///< the same: their cost is another one at their end
    int reserve = 0;      ///< the same: it is not known before, and a number of up to twice that is reserved
};

/// A key of the plan.
std::size_t draw_key(const TrafficPlan& plan, Chance& chance);

/// A configuration that may come instead: other limits, timeouts and shards for the same requests.
Setup draw_change(const Setup& from, Chance& chance);

}  // namespace rate_limit::world
