// A worker that is killed sends nothing more, and leaves the memory of its machine as it was. The next one
// takes its place.

#include <vector>

#include <gtest/gtest.h>

#include "t/limiter/calls.h"
#include "t/limiter/one_machine.h"

namespace rate_limit::world::killed_worker_test {

namespace {

LimitSetup hundred_by(const char* mode) {
    LimitSetup limit;
    limit.rate = "100r/h";
    limit.mode = mode;
    return limit;
}

TEST(KilledWorker, LosesWhatItHasNotSent) {
    OneMachine world(hundred_by("check_charge"));
    std::vector<ClientRequest*> requests;
    for (int i = 0; i < 5; ++i) {
        requests.push_back(&world.begin("client"));
    }
    world.pass(10);
    for (ClientRequest* request : requests) {
        request->end();  // charges wait while the first one is on its way
    }
    world.kill();
    world.pass(10'000);
    EXPECT_EQ(world.primary.used(stored_key("client")), 1);
}

TEST(KilledWorker, HasSentWhatIsOnItsWay) {
    OneMachine world(hundred_by("charge_refund"));
    EXPECT_TRUE(world.admits("client"));
    world.begin("client");
    world.kill();
    world.pass(10'000);
    EXPECT_EQ(world.primary.used(stored_key("client")), 2);
}

TEST(KilledWorker, GivesNothingBackForItsRequests) {
    OneMachine world(hundred_by("charge_refund"));
    ClientRequest& request = world.begin("client");
    world.pass(1000);
    ASSERT_TRUE(request.is_admitted());
    world.kill();
    world.pass(10'000);
    EXPECT_EQ(world.primary.used(stored_key("client")), 1);
}

/// Soon the primary's word is taken again, even if it is lower.
TEST(KilledWorker, LeavesNoChargeThatIsWaitedForForEver) {
    OneMachine world(hundred_by("check_charge"));
    world.setup.limits.front().rate = "5r/h";
    world.setup.stores.front().charge_timeout = 500;
    const std::string key = stored_key("client");
    EXPECT_EQ(world.admitted(2, "client"), 2U);
    world.pass(10);
    world.primary.link().back = 60'000'000;  // answers are on their way for so long
    EXPECT_EQ(world.ask("client"), "PASSED");
    world.pass(10);
    EXPECT_EQ(world.primary.used(key), 3);
    world.kill();
    world.primary.link().back = 100;
    EXPECT_EQ(world.admitted(5, "client"), 2U) << "the limit is reached, and not before";
    world.pass(10);
    EXPECT_EQ(world.primary.used(key), 5);
    world.primary.server().databases().front().erase(key);
    EXPECT_TRUE(world.until([&] { return world.ask("client") == "PASSED"; }, 10'000));
}

TEST(KilledWorker, LeavesItsTokensToTheNextOne) {
    OneMachine world(hundred_by("lease"));
    const Calls calls(world.primary);
    EXPECT_EQ(world.admitted(7, "client"), 7U);
    const std::size_t before = calls["evalsha"];
    world.kill();
    EXPECT_TRUE(world.admits("client"));
    EXPECT_EQ(calls["evalsha"], before);
    EXPECT_TRUE(world.until([&world] { return world.primary.used(stored_key("client")) == 8; }))
        << "and it gives back the rest";
}

}  // namespace

}  // namespace rate_limit::world::killed_worker_test
