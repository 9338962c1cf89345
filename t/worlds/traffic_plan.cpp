#include "t/worlds/traffic_plan.h"

#include <array>
#include <string>

namespace rate_limit::world {

namespace {

LimitSetup choose_limit(Chance& chance) {
    constexpr std::array<const char*, 3> modes{"check_charge", "charge_refund", "lease"};
    LimitSetup limit;
    const std::int64_t kind = chance.below(6);
    const std::int64_t most = chance.percent(50) ? chance.between(1, 20) : chance.between(20, 2000);
    if (kind == 5) {
        limit.running = true;
        limit.rate = std::to_string(chance.between(1, 10));
        return limit;
    }
    // Windows outlast the world but for some: what is stored can be compared with what was admitted.
    limit.rate = std::to_string(most) + (chance.percent(80) ? "r/h" : "r/10s");
    limit.mode = chance.one_of(modes);
    if (kind == 4) {
        limit.mode = chance.percent(50) ? "charge_refund" : "lease";
        limit.rate = std::to_string(chance.between(1, 50)) + "r/s";
        limit.burst = chance.between(1, 100);
    }
    return limit;
}

}  // namespace

TrafficPlan::TrafficPlan(Chance chance)
    : limits{choose_limit(chance)},
      on_error(static_cast<OnError>(chance.below(3))),
      pause(chance.one_of(std::array<Micros, 4>{500, 2'000, 10'000, 100'000})),
      longest(chance.one_of(std::array<Micros, 3>{1'000, 50'000, 2'000'000})),
      keys(chance.percent(50) ? chance.between(1, 3) : chance.between(1, 100)),
      most_cost(chance.percent(70) ? 1 : 5),
      aborted(chance.percent(50) ? 0 : 10),
      exempt(chance.percent(50) ? 0 : 20) {}

}  // namespace rate_limit::world
