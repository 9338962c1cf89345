// Each mode's admissions in one window, and what the primary has stored then.

#include <string>
#include <vector>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::modes_test {
namespace {

using Admitted = std::vector<bool>;

class Modes : public testing::TestWithParam<const char*> {};

TEST_P(Modes, AdmitAsManyAsTheLimitSays) {
    OneMachine world({"default", "5r/m", GetParam()});
    Admitted admitted;
    for (int i = 0; i < 7; ++i) {
        admitted.push_back(world.admits("client"));
    }
    EXPECT_EQ(admitted, (Admitted{true, true, true, true, true, false, false}));
    world.pass(10'000);
    EXPECT_EQ(world.primary.used("rl:default/60:client"), 5);
    EXPECT_EQ(world.worker().loop().take_lines(), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Each, Modes, testing::Values("check_charge", "charge_refund", "lease"));

/// A token comes 100 ms after the first was taken, which connecting has delayed, and so on; requests are 10
/// ms apart.
TEST(TokenBucket, AdmitsItsBurstAndThenByItsRate) {
    OneMachine world({"default", "10r/s", "charge_refund", 2});
    Admitted admitted;
    for (int i = 0; i < 32; ++i) {
        admitted.push_back(world.admits("client"));
    }
    Admitted expected(32, false);
    for (const std::size_t request : {0, 1, 11, 21, 31}) {
        expected[request] = true;
    }
    EXPECT_EQ(admitted, expected);
}

TEST(RunningRequests, AreAsManyAtATimeAsTheLimitSays) {
    OneMachine world({"default", "2", "check_charge", 0, "main", lease_auto, "first", true});
    ClientRequest first(world.worker(), "client");
    ClientRequest second(world.worker(), "client");
    ClientRequest third(world.worker(), "client");
    for (ClientRequest* request : {&first, &second, &third}) {
        request->begin();
        world.pass(10);
    }
    EXPECT_TRUE(first.is_admitted());
    EXPECT_TRUE(second.is_admitted());
    EXPECT_FALSE(third.is_admitted());
    first.end();
    EXPECT_TRUE(world.admits("client"));
}

/// They are summed, and reach the window that was open before; those of a window that closes meanwhile
/// expire.
TEST(Charges, WaitForAPrimaryThatIsAway) {
    OneMachine world({"default", "5r/m", "check_charge"});
    world.setup.limits.push_back({"short", "5r/s"});
    const RequestSetup lasting = RequestSetup("client").under({"default"});
    EXPECT_EQ(world.ask(lasting), "PASSED");
    world.pass(10);
    world.primary.kill(true);
    world.pass(10);
    EXPECT_EQ(world.admitted(2, lasting), 2U);
    EXPECT_EQ(world.admitted(1, RequestSetup("client").under({"short"})), 1U);
    EXPECT_EQ(world.primary.used("rl:default/60:client"), 1);
    world.pass(1'000);
    world.primary.start();
    world.pass(10'000);
    EXPECT_EQ(world.primary.used("rl:default/60:client"), 3);
    EXPECT_EQ(world.primary.used("rl:short/1:client"), 0);
    EXPECT_EQ(world.logged("1 charges for .* expired: their windows had closed, .*\\(1 expired so far\\)"),
              1U);
}

}  // namespace
}  // namespace rate_limit::world::modes_test
