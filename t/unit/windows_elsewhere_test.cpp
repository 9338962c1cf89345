#include <gtest/gtest.h>

#include "core/machine/windows/window_account.h"
#include "t/unit/window_terms.h"

namespace rate_limit {
namespace {

constexpr Millis period = 60'000;
constexpr Millis end = now + period;

/// The memory of this machine of a window in another region, which ends at `end`.
class WindowElsewhere : public testing::Test {
protected:
    /// A node answers so long after the first answer, in milliseconds.
    std::int64_t told(std::int64_t used, Millis after = 0, Millis reset = end) {
        Terms at = terms(100, now + after);
        at.proposed = end;
        learn_elsewhere(record, at, {used, reset});
        return record.used;
    }

    WindowRecord record{};
};

TEST_F(WindowElsewhere, GrowsByWhatEachNodeSays) {
    EXPECT_EQ(told(10), 10);
    EXPECT_EQ(told(12, 1), 12);
}

TEST_F(WindowElsewhere, IsNotLessForANodeThatLags) {
    EXPECT_EQ(told(12), 12);
    for (Millis after = 100; after < 20'000; after += 1'000) {
        EXPECT_EQ(told(10, after), 12) << after;
        EXPECT_EQ(told(12, after + 500), 12) << after;
    }
}

TEST_F(WindowElsewhere, IsLessWhenNoNodeHasSaidAsMuchForTwoSeconds) {
    EXPECT_EQ(told(12), 12);
    EXPECT_EQ(told(3, 1'000), 12);
    EXPECT_EQ(told(3, 2'000), 12);
    EXPECT_EQ(told(3, 2'001), 3);
    EXPECT_EQ(told(5, 2'002), 5);
    EXPECT_EQ(told(0, 5'000, 0), 0) << "its window is gone";
}

TEST_F(WindowElsewhere, IsNotFreshWhileNodesSayLess) {
    told(12);
    told(3, 1'500);
    EXPECT_TRUE(is_fresh(record, 1'000, now + 1'000));
    EXPECT_FALSE(is_fresh(record, 1'000, now + 1'500));
}

TEST_F(WindowElsewhere, StaysWhereAClockThereIsAhead) {
    EXPECT_EQ(told(12), 12);
    EXPECT_EQ(told(50, 1'000, end + period), 12);
    EXPECT_EQ(told(1, 9'000, end + period), 12);
    EXPECT_EQ(record.reset, end);
}

/// The clock of this machine is behind, and the region here has opened the next window.
TEST_F(WindowElsewhere, GivesWayToTheNextOneThatIsOpenHere) {
    EXPECT_EQ(told(36), 36);
    Terms next = terms(100, now + 1'000);
    next.proposed = end + period;
    learn_elsewhere(record, next, {36, end});
    EXPECT_EQ(record.used, 0) << "of the window of before";
    EXPECT_EQ(record.reset, end + period);
    learn_elsewhere(record, next, {13, end + period});
    EXPECT_EQ(record.used, 13);
}

TEST_F(WindowElsewhere, IsEmptyWhereOnlyTheNextOneIsKnown) {
    EXPECT_EQ(told(50, 0, end + period), 0);
    EXPECT_EQ(record.reset, end);
    EXPECT_TRUE(is_fresh(record, 1'000, now));
}

/// A zone that is behind by some hours ends a day by the local time later.
TEST_F(WindowElsewhere, CountsWhereItEndsALittleLater) {
    EXPECT_EQ(told(12, 0, end + period / 4), 12);
    EXPECT_EQ(told(13, 1, end + period * 3 / 4), 13);
}

TEST(WindowsOverRegions, MayStandForChecksWhileATwentiethOfTheWholeLimitIsLeft) {
    Terms at = terms(70);
    at.elsewhere = 930;
    WindowRecord record{};
    learn(record, at, {20, at.proposed}, 0);
    record.confirmed = true;
    EXPECT_TRUE(has_room(record, at, 1));
    learn(record, at, {21, at.proposed}, 0);
    EXPECT_FALSE(has_room(record, at, 1)) << "49 of 1000 are left";
}

}  // namespace
}  // namespace rate_limit
