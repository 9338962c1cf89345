// The count of a window stops at most_used, in Redis and in memory.

#include <string>
#include <vector>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::great_counts_test {
namespace {

/// All requests are let in before the first of them is charged. Then ten a millisecond are charged.
void charge_much(OneMachine& world) {
    EXPECT_EQ(world.ask("client"), "PASSED");
    world.let_connections_age();
    std::vector<ClientRequest*> requests;
    for (std::int64_t i = 0; i < most_used / max_cost + 100; ++i) {
        requests.push_back(&world.begin("client"));
    }
    world.pass(1'000);
    int number = 0;
    for (ClientRequest* request : requests) {
        ASSERT_TRUE(request->is_admitted());
        request->end_at_cost(max_cost);
        if (++number % 10 == 0) {
            world.pass(1);
        }
    }
    world.pass(10'000);
}

TEST(GreatCounts, StopInRedis) {
    OneMachine world({"default", "1000000000000r/d", "check_charge"});
    charge_much(world);
    EXPECT_EQ(world.primary.used(stored_key("client", "86400")), most_used);
    EXPECT_EQ(world.ask("client"), "REJECTED");
}

TEST(GreatCounts, StopInMemory) {
    OneMachine world({"default", "1000000000000r/d", "check_charge", 0, "local"});
    charge_much(world);
    ClientRequest& next = world.begin("client");
    world.pass(10);
    EXPECT_FALSE(next.is_admitted());
    EXPECT_EQ(next.quota().used, most_used);
}

}  // namespace
}  // namespace rate_limit::world::great_counts_test
