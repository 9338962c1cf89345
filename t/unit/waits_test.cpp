#include "core/counts/waits.h"

#include <gtest/gtest.h>

namespace rate_limit::waits_test {
namespace {

TEST(Waits, AreInTheFirstBucketWhoseBoundTheyDoNotPass) {
    EXPECT_EQ(wait_bucket(0), 0U);
    EXPECT_EQ(wait_bucket(250), 0U);
    EXPECT_EQ(wait_bucket(251), 1U);
    EXPECT_EQ(wait_bucket(800), 2U);
    EXPECT_EQ(wait_bucket(1'000'000), wait_buckets - 2);
    EXPECT_EQ(wait_bucket(1'000'001), wait_buckets - 1);
    EXPECT_EQ(wait_bucket(~std::uint64_t{0}), wait_buckets - 1);
}

}  // namespace
}  // namespace rate_limit::waits_test
