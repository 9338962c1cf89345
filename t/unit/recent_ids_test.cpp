#include "core/machine/windows/recent_ids.h"

#include <gtest/gtest.h>

namespace rate_limit::recent_ids_test {
namespace {

TEST(RecentIds, KnowsTheLastOfEachPlace) {
    RecentIds ids;
    EXPECT_EQ(ids.find({1, 2}), 0U);
    EXPECT_EQ(ids.find({0, 0}), 0U) << "an empty place is nobody's";
    ids.keep({1, 2}, 7);
    ids.keep({1, 3}, 8);
    EXPECT_EQ(ids.find({1, 2}), 7U);
    EXPECT_EQ(ids.find({1, 3}), 8U);
    EXPECT_EQ(ids.find({9, 2}), 0U) << "another window of the same place";
    ids.keep({9, 2 + 512}, 9);
    EXPECT_EQ(ids.find({9, 2 + 512}), 9U);
    EXPECT_EQ(ids.find({1, 2}), 0U);
}

}  // namespace
}  // namespace rate_limit::recent_ids_test
