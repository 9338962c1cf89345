// A client of a bucket that another limit, or another configuration, has emptied further comes back when it
// was told to.

#include <tuple>

#include "t/limiter/scenario.h"

namespace rate_limit::world {
namespace {

class BucketOfTwoLimits : public testing::TestWithParam<std::tuple<const char*, const char*>> {
protected:
    BucketOfTwoLimits() { world.setup.limits.front().store = std::get<1>(GetParam()); }

    /// The seconds of Retry-After; 0: the request has passed.
    std::int64_t rejected_for(std::int64_t cost) {
        ClientRequest& request = world.begin({"k", cost});
        world.pass(50);
        EXPECT_TRUE(request.is_decided());
        return request.outcome == Outcome::rejected ? request.quota().until : 0;
    }

    Scenario world{{"default", "6r/m", std::get<0>(GetParam()), 40}};
    Redis primary{world.events, world.network, Scenario::primary_address};
};

TEST_P(BucketOfTwoLimits, IsThereWhenRetryAfterSays) {
    for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(rejected_for(9), 0);
    }
    world.setup.limits.front().burst = 10;
    world.reload();
    // The bucket is full in about 360 s, and that of 10 has nothing until it is less than 100 s.
    const std::int64_t wait = rejected_for(1);
    EXPECT_GT(wait, 200);
    const std::int64_t again = rejected_for(1);  // by what the machine remembers
    EXPECT_GT(again, 200);
    world.pass(static_cast<Msec>(again) * 1000);
    EXPECT_EQ(rejected_for(1), 0);
}

INSTANTIATE_TEST_SUITE_P(AllModes, BucketOfTwoLimits,
                         testing::Combine(testing::Values("charge_refund", "lease"),
                                          testing::Values("main", "local")));

}  // namespace
}  // namespace rate_limit::world
