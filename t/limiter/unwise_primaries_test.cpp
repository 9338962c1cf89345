// How a primary is set up that would lose charges: the log warns of it once, and says what to do.

#include <string>
#include <utility>

#include "t/limiter/one_machine.h"
#include "t/world/sentinel.h"

namespace rate_limit::world::unwise_primaries_test {
namespace {

struct Setting {
    std::uint64_t maxmemory;
    const char* policy;
    std::size_t replicas;
    std::size_t min_replicas_to_write;
    const char* warning;  // "": none
};

TEST(UnwisePrimaries, AreWarnedAboutOnce) {
    constexpr std::uint64_t bytes = 100'000'000;
    const char* evicts =
        "has maxmemory with a policy other than noeviction: .*; set maxmemory-policy noeviction";
    const char* alone =
        "takes writes without replicas: when it is cut off from all of its 2, .*; set min-replicas-to-write "
        "1 "
        "and min-replicas-max-lag 10";
    for (const auto& [maxmemory, policy, replicas, guard, warning] :
         {Setting{bytes, "allkeys-lru", 0, 0, evicts}, Setting{bytes, "volatile-ttl", 0, 0, evicts},
          Setting{bytes, "noeviction", 0, 0, ""}, Setting{0, "allkeys-lru", 0, 0, ""},
          // With the remedy the loss of either server would stop all charges.
          Setting{0, "noeviction", 1, 0, ""}, Setting{0, "noeviction", 2, 1, ""},
          Setting{0, "noeviction", 2, 0, alone}}) {
        OneMachine world({"default", "1000r/h"});
        Redis second(world.events, world.network, Scenario::replica_address);
        Sentinel sentinel(world.network, "10.0.1.1:26379");
        world.setup.stores.front().shards = {{"a", "", {}, "m"}, {"b", "", {}, "n"}};
        world.setup.stores.front().sentinels = {sentinel.address()};
        for (const auto& [master, server] : {std::pair("m", &world.primary), std::pair("n", &second)}) {
            sentinel.watch(master).primary = server->address();
            ServerState& state = server->server().state;
            state.maxmemory = maxmemory;
            state.maxmemory_policy = policy;
            state.replicas = replicas;
            state.min_replicas_to_write = guard;
        }
        world.worker();
        world.pass(3'000);
        EXPECT_EQ(world.ask("k"), "PASSED");
        const std::string what = std::to_string(maxmemory) + ' ' + policy + ' ' + std::to_string(replicas);
        for (const char* server :
             {"primary 10.0.0.1:6379 of shard \"a\"", "primary 10.0.0.2:6379 of shard \"b\""}) {
            const std::string line = std::string(server) + " of \"main\" " + warning + '$';
            EXPECT_EQ(world.logged(line), *warning != '\0' ? 1U : 0U) << what;
        }
        EXPECT_EQ(world.logged("has maxmemory|takes writes"), *warning != '\0' ? 2U : 0U) << what;
    }
}

}  // namespace
}  // namespace rate_limit::world::unwise_primaries_test
