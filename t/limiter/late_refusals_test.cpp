// A refusal that comes when its window has ended shows that window, and lets the client come back in a
// second: not the window that would open, in which nothing is used.

#include <string>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::late_refusals_test {
namespace {

constexpr const char* key = "rl:default/10c:k";

class LateRefusals : public testing::TestWithParam<const char*> {
protected:
    LateRefusals() {
        world.setup.limits.front().window = "clock";
        (void)world.ask("other");
        world.pass(2'000);
        end = (world.at() / 10'000 + 1) * 10'000;
    }

    OneMachine world{{"default", "5r/10s", GetParam()}, 1'000};
    Millis end = 0;
};

TEST_P(LateRefusals, ShowTheWindowThatRefused) {
    world.put_window(key, 5, end);
    world.pass(static_cast<Msec>(end - 40 - world.at()));
    world.primary.link().there = world.primary.link().back = 35'000;
    ClientRequest& request = world.begin("k");
    world.pass(200);
    ASSERT_GT(world.at(), end);
    EXPECT_EQ(outcome(request), "REJECTED");
    const Quota quota = request.quota();
    EXPECT_EQ(quota.used, 5);
    EXPECT_EQ(quota.remaining, 0);
    EXPECT_EQ(quota.reset, end / 1000);
    EXPECT_EQ(quota.until, 1);
    EXPECT_EQ(world.ask("k"), "PASSED") << "in the next window";
}

INSTANTIATE_TEST_SUITE_P(Modes, LateRefusals, testing::Values("charge_refund", "lease"));

}  // namespace
}  // namespace rate_limit::world::late_refusals_test
