// Two free requests take a bucket's tokens; one ends at once, the other when the bucket has been refilled.
// What the second one took has been refilled by then, and others have taken it: it gives nothing back,
// although the bucket as it was left was to be full later.

#include <string>
#include <tuple>

#include "t/limiter/scenario.h"

namespace rate_limit::world::exchanged_tokens_test {
namespace {

class ExchangedTokens : public testing::TestWithParam<std::tuple<const char*, const char*>> {
protected:
    ExchangedTokens() { world.setup.limits.front().store = std::get<1>(GetParam()); }

    ClientRequest& begin(std::int64_t cost) {
        ClientRequest& request = world.begin({"a", cost});
        world.pass(10);
        return request;
    }

    Scenario world{{"default", "2r/s", std::get<0>(GetParam()), 10}};
    Redis primary{world.events, world.network, Scenario::primary_address};
};

TEST_P(ExchangedTokens, AreGivenBackOnce) {
    ClientRequest& quick = begin(5);
    ClientRequest& slow = begin(5);
    EXPECT_EQ(outcome(quick), "PASSED");
    EXPECT_EQ(outcome(slow), "PASSED");
    quick.end(true);
    while (outcome(begin(10)) != "PASSED") {
        world.pass(50);
        ASSERT_LT(world.events.now(), 6'000'000);
    }
    slow.end(true);
    world.pass(10);
    EXPECT_EQ(outcome(begin(4)), "REJECTED");
    EXPECT_EQ(outcome(begin(4)), "REJECTED") << "nothing has been given back";
}

/// The bucket has been full since: others have had the same tokens.
TEST_P(ExchangedTokens, AreNotGivenBackToABucketThatIsFull) {
    ClientRequest& slow = begin(10);
    EXPECT_EQ(outcome(begin(10)), "REJECTED");
    world.pass(5'100);
    EXPECT_EQ(outcome(begin(9)), "PASSED");
    slow.end(true);
    world.pass(10);
    EXPECT_EQ(outcome(begin(9)), "REJECTED");
    world.pass(60'000);
    ClientRequest& quick = begin(9);
    EXPECT_EQ(outcome(begin(9)), "REJECTED");
    quick.end(true);
    EXPECT_TRUE(world.until([this] { return outcome(begin(9)) == "PASSED"; }, 1'500)) << "else they are";
}

INSTANTIATE_TEST_SUITE_P(AllModes, ExchangedTokens,
                         testing::Combine(testing::Values("charge_refund", "lease"),
                                          testing::Values("main", "local")));

}  // namespace
}  // namespace rate_limit::world::exchanged_tokens_test
