#include "core/pacing.h"

#include <gtest/gtest.h>

namespace rate_limit::backoff_test {
namespace {

constexpr std::uint32_t steps[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};

TEST(Backoff, DoublesUpToTheLongestWait) {
    Backoff shortest;
    Backoff longest;
    for (std::uint32_t step : steps) {
        EXPECT_EQ(shortest.next(0), step / 2);
        EXPECT_EQ(longest.next(step / 2), step);
    }
}

TEST(Backoff, StaysInTheUpperHalfOfItsStep) {
    // Multiples of a large odd number are spread over all 32 bits.
    for (std::uint32_t i = 0, random = 0; i < 1000; ++i, random += 2654435761U) {
        Backoff backoff;
        for (std::uint32_t step : steps) {
            const std::uint32_t wait = backoff.next(random);
            EXPECT_GE(wait, step / 2);
            EXPECT_LE(wait, step);
        }
    }
}

TEST(Backoff, StartsAgainAfterAnAnswer) {
    Backoff backoff;
    backoff.next(0);
    backoff.next(0);
    backoff.reset();
    EXPECT_EQ(backoff.next(0), Backoff::first_wait / 2);
}

}  // namespace
}  // namespace rate_limit::backoff_test
