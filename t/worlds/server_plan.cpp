#include "t/worlds/server_plan.h"

#include <array>

namespace rate_limit::world {

namespace {

constexpr Micros second = 1'000'000;

}  // namespace

const char* name_of(ServerFault kind) noexcept {
    constexpr std::array<const char*, server_faults> names{
        "reset",   "cut",      "slow",        "jitter",       "pieces",    "silent", "half-open",
        "refused", "pause",    "restart",     "vanish",       "data loss", "flush",  "loading",
        "oom",     "misconf",  "no replicas", "read only",    "busy",      "lag",    "stall",
        "stale",   "failover", "death",       "lost sentinel"};
    return names[static_cast<std::size_t>(kind)];
}

ServerPlan::ServerPlan(Chance chance, Micros lasts) {
    StoreSetup store;
    const bool watched = chance.percent(40);
    const std::int64_t shards = chance.between(1, 3);
    const std::int64_t most_replicas = chance.percent(50) ? (watched ? 1 : 0) : 2;
    std::size_t servers = 0;
    for (std::int64_t i = 0; i < shards; ++i) {
        const Micros ahead = chance.percent(70) ? 0 : chance.between(-2 * second, 2 * second);
        const Micros lag = chance.one_of(std::array<Micros, 3>{200, 2'000, 50'000});
        const auto members = static_cast<std::size_t>(chance.between(watched ? 1 : 0, most_replicas)) + 1;
        ShardSetup shard{std::string(1, static_cast<char>('a' + i)), {}};
        if (watched) {
            shard.master = shard.name;
        } else {
            shard.primary = address_of_server(servers);
            for (std::size_t replica = 1; replica < members; ++replica) {
                shard.replicas.push_back(address_of_server(servers + replica));
            }
        }
        store.shards.push_back(shard);
        sets.push_back({members, ahead, lag});
        servers += members;
    }
    const std::int64_t count = watched ? chance.one_of(std::array<std::int64_t, 3>{1, 3, 5}) : 0;
    for (std::int64_t i = 0; i < count; ++i) {
        sentinels.push_back("10.0.1." + std::to_string(i + 1) + ":26379");
    }
    // Those that are not configured are found by the others.
    const std::int64_t named = watched ? chance.between(1, count) : 0;
    store.sentinels.assign(sentinels.begin(), sentinels.begin() + named);
    stores = {store};
    faults = draw_faults<ServerFault>(chance, server_faults, 20, servers, lasts);
}

std::string address_of_server(std::size_t number) {
    return "10.0.0." + std::to_string(number + 1) + ":6379";
}

}  // namespace rate_limit::world
