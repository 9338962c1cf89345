#include "core/nearness.h"

#include <gtest/gtest.h>

namespace rate_limit {
namespace {

TEST(AnswerTime, IsUnknownBeforeTheFirstAnswer) {
    EXPECT_FALSE(AnswerTime().smoothed());
}

TEST(AnswerTime, IsTheFirstAnswerThenAnEighthOfEach) {
    AnswerTime time;
    time.add(800, 1'000);
    EXPECT_EQ(time.smoothed(), 800U);
    time.add(1'600, 2'000);
    EXPECT_EQ(time.smoothed(), 900U);
    time.add(100, 3'000);
    EXPECT_EQ(time.smoothed(), 800U);
}

TEST(AnswerTime, OfASteadyServerIsExact) {
    for (const std::uint64_t took : {0U, 1U, 7U, 123U, 60'001U}) {
        AnswerTime time;
        for (std::uint64_t now = 0; now < 1'000; ++now) {
            time.add(took, now);
        }
        EXPECT_EQ(time.smoothed(), took);
    }
}

TEST(AnswerTime, ThatIsOldCountsNoMore) {
    AnswerTime time;
    time.add(60'000, 1'000);
    time.add(200, 1'000 + AnswerTime::old_after - 1);
    EXPECT_EQ(time.smoothed(), 52'525U);
    time.add(200, 1'000 + 2 * AnswerTime::old_after);
    EXPECT_EQ(time.smoothed(), 200U);
}

TEST(AnswerTime, IsForgotten) {
    AnswerTime time;
    time.add(200, 1'000);
    time.forget();
    EXPECT_FALSE(time.smoothed());
    time.add(500, 1'001);
    EXPECT_EQ(time.smoothed(), 500U);
}

TEST(StillNear, IsHalfAsMuchAgainAndABit) {
    EXPECT_EQ(still_near(0), 300U);
    EXPECT_EQ(still_near(200), 600U);
    EXPECT_EQ(still_near(60'000), 90'300U);
}

}  // namespace
}  // namespace rate_limit
