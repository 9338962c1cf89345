#include "core/machine/workers/shared_walk.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "threads.h"

namespace rate_limit::shared_walk_test {
namespace {

std::vector<std::size_t> take_until_empty(SharedWalk& walk, std::size_t sets, std::size_t most,
                                          std::uint32_t now, std::uint32_t interval) {
    std::vector<std::size_t> looked_at;
    for (;;) {
        const SharedWalk::Slice slice = walk.take(sets, most, now, interval);
        if (slice.empty()) {
            return looked_at;
        }
        EXPECT_LE(slice.end - slice.next, most);
        for (std::size_t set = slice.next; set < slice.end; ++set) {
            looked_at.push_back(set);
        }
    }
}

std::vector<std::size_t> all_of(std::size_t sets) {
    std::vector<std::size_t> all(sets);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

TEST(SharedWalk, LooksAtEachSetOnceARound) {
    for (const std::size_t sets : {1U, 2U, 511U, 512U, 513U, 8664U}) {
        SharedWalk walk;
        const std::vector<std::size_t> first = take_until_empty(walk, sets, 512, 1'000'000, 250);
        EXPECT_EQ(first, all_of(sets));
        EXPECT_TRUE(walk.take(sets, 512, 1'000'249, 250).empty());
        EXPECT_EQ(take_until_empty(walk, sets, 512, 1'000'250, 250), all_of(sets));
    }
}

TEST(SharedWalk, ATableWithoutSetsIsNotWalked) {
    SharedWalk walk;
    EXPECT_TRUE(walk.take(0, 512, 1'000'000, 250).empty());
}

TEST(SharedWalk, ProcessesShareARound) {
    SharedWalk one;
    SharedWalk& other = one;
    EXPECT_EQ(one.take(10, 4, 5000, 250).end, 4U);
    EXPECT_EQ(other.take(10, 4, 5001, 250).next, 4U);
    EXPECT_EQ(one.take(10, 4, 5002, 250).next, 8U);
    EXPECT_TRUE(other.take(10, 4, 5003, 250).empty());
    EXPECT_TRUE(other.take(10, 4, 5249, 250).empty()) << "the interval counts from the start of a round";
    EXPECT_EQ(other.take(10, 4, 5250, 250).next, 0U);
}

TEST(SharedWalk, SaysHowLongThereIsNothing) {
    SharedWalk walk;
    EXPECT_EQ(walk.pause(10, 5000, 250), 0U);
    (void)walk.take(10, 5, 5000, 250);
    EXPECT_EQ(walk.pause(10, 5010, 250), 0U) << "the round has sets left";
    (void)walk.take(10, 5, 5010, 250);
    EXPECT_EQ(walk.pause(10, 5010, 250), 240U);
    EXPECT_EQ(walk.pause(10, 5010, 1000), 990U);
    EXPECT_EQ(walk.pause(10, 5250, 250), 0U);
}

TEST(SharedWalk, ARoundThatTookTooLongIsFollowedAtOnce) {
    SharedWalk walk;
    (void)walk.take(10, 5, 5000, 250);
    (void)walk.take(10, 5, 5400, 250);
    EXPECT_EQ(walk.take(10, 5, 5401, 250).next, 0U);
}

TEST(SharedWalk, GoesOnWhenTheClockWrapsAroundOrIsSetBack) {
    SharedWalk walk;
    (void)take_until_empty(walk, 10, 5, 0xffff'ff80, 250);
    EXPECT_TRUE(walk.take(10, 5, 0xffff'fff0, 250).empty());
    EXPECT_FALSE(walk.take(10, 5, 0x7a, 250).empty());
    (void)take_until_empty(walk, 10, 5, 0x7a, 250);
    EXPECT_TRUE(walk.take(10, 5, 0x10, 250).empty()) << "the clock is behind";
    EXPECT_FALSE(walk.take(10, 5, 0x7a - 1001U, 250).empty()) << "after the clock was set back";
}

TEST(SharedWalk, RemembersWhatWasNotedThroughTheNextRound) {
    SharedWalk walk;
    EXPECT_FALSE(walk.noted());
    walk.note();
    EXPECT_TRUE(walk.noted());
    (void)take_until_empty(walk, 10, 5, 1000, 250);
    EXPECT_TRUE(walk.noted()) << "it was noted before this round";
    walk.note();
    (void)take_until_empty(walk, 10, 5, 2000, 250);
    EXPECT_TRUE(walk.noted());
    (void)take_until_empty(walk, 10, 5, 3000, 250);
    EXPECT_FALSE(walk.noted()) << "it was not found in the last two rounds";
}

TEST(SharedWalk, NoSetIsTakenTwiceInARoundOfMany) {
    constexpr std::size_t sets = 20'000;
    SharedWalk walk;
    std::vector<std::atomic<int>> taken(sets);
    in_threads(4, [&](std::size_t /*thread*/) {
        for (const std::size_t set : take_until_empty(walk, sets, 3, 1'000'000, 250)) {
            ++taken[set];
        }
    });
    for (std::size_t set = 0; set < sets; ++set) {
        ASSERT_EQ(taken[set], 1) << set;
    }
}

}  // namespace
}  // namespace rate_limit::shared_walk_test
