#include "t/worlds/plan.h"

namespace rate_limit::world {

namespace {

/// The numbers of one part of a world.
Chance part(std::uint64_t seed, std::uint64_t number) {
    constexpr std::uint64_t parts = 8;
    return Chance(seed * parts + number);
}

}  // namespace

Plan::Plan(std::uint64_t seed)
    : lasts(part(seed, 0).between(2, 30) * 1'000'000),
      servers(part(seed, 1), lasts),
      machines(part(seed, 2), lasts),
      traffic(part(seed, 3)),
      course(part(seed, 4)) {
    setup.stores = servers.stores;
    setup.limits = traffic.limits;
    setup.on_error = traffic.on_error;
}

}  // namespace rate_limit::world
