#include "t/worlds/server_plan.h"

#include <array>

namespace rate_limit::world {

namespace {

constexpr Micros second = 1'000'000;

}  // namespace

const char* name_of(ServerFault kind) noexcept {
    constexpr std::array<const char*, server_faults> names{"reset",   "slow",  "silent",  "refused", "pause",
                                                           "restart", "flush", "loading", "oom"};
    return names[static_cast<std::size_t>(kind)];
}

ServerPlan::ServerPlan(Chance chance, Micros lasts) {
    StoreSetup store;
    const std::int64_t shards = chance.between(1, 3);
    for (std::int64_t i = 0; i < shards; ++i) {
        store.shards.push_back(
            {std::string(1, static_cast<char>('a' + i)), address_of_server(static_cast<std::size_t>(i))});
        ahead.push_back(chance.percent(70) ? 0 : chance.between(-2 * second, 2 * second));
    }
    stores = {store};
    faults = draw_faults<ServerFault>(chance, server_faults, 20, ahead.size(), lasts);
}

std::string address_of_server(std::size_t number) {
    return "10.0.0." + std::to_string(number + 1) + ":6379";
}

}  // namespace rate_limit::world
