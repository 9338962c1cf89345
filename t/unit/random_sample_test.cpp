#include "core/counts/hot_keys.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace rate_limit::random_sample_test {
namespace {

TEST(RandomSample, TakesOneOfSixteen) {
    RandomSample sample(42);
    std::uint64_t taken = 0;
    for (int i = 0; i < 1'600'000; ++i) {
        taken += sample.take() ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(taken), 100'000, 1000);
}

/// Calls may have a period: check and charge alternate.
TEST(RandomSample, TakesAsManyOfWhatHasAPeriod) {
    for (int period = 2; period <= 64; ++period) {
        RandomSample sample(7);
        std::uint64_t taken = 0;
        std::uint64_t of_first = 0;
        for (int i = 0; i < 400'000; ++i) {
            if (sample.take()) {
                ++taken;
                of_first += i % period == 0 ? 1 : 0;
            }
        }
        const double share = static_cast<double>(of_first) / static_cast<double>(taken);
        EXPECT_NEAR(share, 1.0 / period, 0.015) << "period " << period;
    }
}

TEST(RandomSample, CountsAllThatItHasSeen) {
    RandomSample sample(0);
    EXPECT_EQ(sample.take_seen(), 0U);
    for (const int count : {1, 5, 100, 31, 32, 12'345}) {
        for (int i = 0; i < count; ++i) {
            (void)sample.take();
        }
        EXPECT_EQ(sample.take_seen(), static_cast<std::uint64_t>(count));
        EXPECT_EQ(sample.take_seen(), 0U);
    }
}

TEST(RandomSample, TakesOthersWithAnotherSeed) {
    RandomSample one(1);
    RandomSample other(2);
    int differ = 0;
    for (int i = 0; i < 1000; ++i) {
        differ += one.take() != other.take() ? 1 : 0;
    }
    EXPECT_GT(differ, 50);
}

}  // namespace
}  // namespace rate_limit::random_sample_test
