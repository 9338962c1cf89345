#include "core/counts/debt_counts.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "threads.h"

namespace rate_limit::debt_counts_test {
namespace {

TEST(DebtCounts, CountsEachShardByItself) {
    DebtCounts counts;
    // The last two have the same place.
    for (const std::uint64_t shard :
         {std::size_t{1}, std::size_t{2}, std::size_t{5}, 5 + DebtCounts::most_shards}) {
        EXPECT_EQ(counts.of(shard), 0U);
        for (std::uint64_t i = 0; i < shard % 7; ++i) {
            counts.add(shard);
        }
    }
    counts.remove(2);
    EXPECT_EQ(counts.of(1), 1U);
    EXPECT_EQ(counts.of(2), 1U);
    EXPECT_EQ(counts.of(5), 5U);
    EXPECT_EQ(counts.of(5U + DebtCounts::most_shards), (5U + DebtCounts::most_shards) % 7);
}

TEST(DebtCounts, NeverGoesBelowNone) {
    DebtCounts counts;
    counts.remove(7);
    EXPECT_EQ(counts.of(7), 0U);
    counts.add(7);
    EXPECT_EQ(counts.of(7), 1U);
}

TEST(DebtCounts, TellWhatTheLastWholeRoundHasSeen) {
    DebtCounts counts;
    counts.begin_round();
    counts.see(1, 5, 0);
    counts.see(1, 2, 30);
    counts.see(2, 0, 4);
    EXPECT_EQ(counts.seen(1).charges, 0U) << "the round is not over";
    counts.begin_round();
    counts.see(1, 1, 0);
    EXPECT_EQ(counts.seen(1).charges, 7U);
    EXPECT_EQ(counts.seen(1).tokens, 30);
    EXPECT_EQ(counts.seen(2).tokens, 4);
    counts.begin_round();
    EXPECT_EQ(counts.seen(1).charges, 1U);
    EXPECT_EQ(counts.seen(1).tokens, 0);
    EXPECT_EQ(counts.of(1), 0U) << "windows are counted when they come and go";
}

TEST(DebtCounts, TooManyShardsShareTheLastCount) {
    DebtCounts counts;
    for (std::uint64_t shard = 1; shard <= DebtCounts::most_shards; ++shard) {
        counts.add(shard * 1000);
    }
    counts.add(17);
    counts.add(18);
    EXPECT_EQ(counts.of(17), 2U) << "never too few";
    EXPECT_EQ(counts.of(18), 2U);
    for (std::uint64_t shard = 1; shard <= DebtCounts::most_shards; ++shard) {
        EXPECT_EQ(counts.of(shard * 1000), 1U);
    }
}

TEST(DebtCounts, IsExactForManyAtATime) {
    DebtCounts counts;
    in_threads(4, [&counts](std::size_t /*thread*/) {
        for (std::uint64_t n = 0; n < 20'000; ++n) {
            counts.add(n % 50);
            if (n % 2 == 1) {
                counts.remove(n % 50);
            }
        }
    });
    for (std::uint64_t shard = 0; shard < 50; ++shard) {
        EXPECT_EQ(counts.of(shard), shard % 2 == 0 ? 1600U : 0U);
    }
}

}  // namespace
}  // namespace rate_limit::debt_counts_test
