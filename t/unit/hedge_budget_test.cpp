#include "core/pacing.h"

#include <gtest/gtest.h>

namespace rate_limit::hedge_budget_test {
namespace {

constexpr std::uint64_t start = 5'000'000;

std::uint32_t taken(HedgeBudget& budget, std::uint64_t now) {
    std::uint32_t count = 0;
    while (count < 10'000 && budget.take(now)) {
        ++count;
    }
    return count;
}

void begin(HedgeBudget& budget, std::uint32_t checks, std::uint64_t now) {
    for (std::uint32_t i = 0; i < checks; ++i) {
        budget.begin(now);
    }
}

TEST(HedgeBudget, HasTwentyASecondWhateverTheTraffic) {
    HedgeBudget budget;
    EXPECT_EQ(taken(budget, start), 20U);
    EXPECT_EQ(taken(budget, start + 999), 0U);
    EXPECT_EQ(taken(budget, start + 1000), 20U);
    EXPECT_EQ(taken(budget, start + 60'000), 20U);
}

TEST(HedgeBudget, IsATenthOfTheChecksOfThisSecond) {
    HedgeBudget budget;
    begin(budget, 200, start);
    EXPECT_EQ(taken(budget, start), 20U);
    begin(budget, 300, start + 10);
    EXPECT_EQ(taken(budget, start + 10), 30U) << "50 in all";
}

TEST(HedgeBudget, IsATenthOfTheChecksOfTheSecondBeforeWhereThatHadMore) {
    HedgeBudget budget;
    begin(budget, 1000, start);
    begin(budget, 10, start + 1100);
    EXPECT_EQ(taken(budget, start + 1100), 100U);
    EXPECT_EQ(taken(budget, start + 2100), 20U) << "the busy second is too long ago";
}

TEST(HedgeBudget, ForgetsASecondAfterAGap) {
    HedgeBudget budget;
    begin(budget, 1000, start);
    EXPECT_EQ(taken(budget, start + 2000), 20U);
}

TEST(HedgeBudget, HoldsOverAClockThatWrapsAround) {
    HedgeBudget budget;
    const std::uint64_t end = ~std::uint64_t{0};
    begin(budget, 1000, end - 10);
    EXPECT_EQ(taken(budget, end - 10), 100U);
    EXPECT_EQ(taken(budget, end + 300), 0U) << "the same second";
    EXPECT_EQ(taken(budget, end + 400), 100U) << "the next one";
}

}  // namespace
}  // namespace rate_limit::hedge_budget_test
