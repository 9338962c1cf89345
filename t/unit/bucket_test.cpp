#include "core/limit/bucket.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace rate_limit::bucket_test {
namespace {

constexpr Nanos start = 1'700'000'000'000'000'000;
constexpr Nanos second = 1'000'000'000;

Bucket bucket(std::int64_t limit, std::int64_t period, std::int64_t burst) {
    const auto made = Bucket::of({limit, period}, burst);
    EXPECT_TRUE(made);
    return made.value_or(*Bucket::of({1, 1}, 1));
}

TEST(Bucket, LetsItsBurstThroughAtOnceAndThenItsRate) {
    const Bucket of = bucket(10, 1, 20);
    Nanos full_at = 0;
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(of.take(full_at, start, 1));
    }
    EXPECT_FALSE(of.take(full_at, start, 1));
    EXPECT_FALSE(of.take(full_at, start + second / 10 - 1, 1));
    EXPECT_TRUE(of.take(full_at, start + second / 10, 1));
    EXPECT_FALSE(of.take(full_at, start + second / 10, 1));
    EXPECT_EQ(of.left(full_at, start + second), 9);
}

/// A client keeps to the rate, but for a request that comes a millisecond early.
TEST(Bucket, OfTwoTakesWhatComesALittleEarly) {
    for (const std::int64_t burst : {1, 2}) {
        const Bucket of = bucket(10, 1, burst);
        Nanos full_at = 0;
        for (const Nanos millis : {0, 100, 200, 299, 400, 499, 600}) {
            EXPECT_EQ(of.take(full_at, start + millis * second / 1'000, 1), burst == 2 || millis % 100 == 0);
        }
    }
}

TEST(Bucket, SaysWhenACostFits) {
    const Bucket of = bucket(10, 1, 20);
    Nanos full_at = 0;
    EXPECT_EQ(of.ready_at(full_at, start, 20), start);
    ASSERT_TRUE(of.take(full_at, start, 18));
    EXPECT_EQ(of.ready_at(full_at, start, 2), start);
    const Nanos ready = of.ready_at(full_at, start, 5);
    EXPECT_EQ(ready, start + 3 * second / 10);
    Nanos before = full_at;
    EXPECT_FALSE(of.take(before, ready - 1, 5));
    EXPECT_TRUE(of.take(full_at, ready, 5));
}

TEST(Bucket, SaysWhenThereIsMore) {
    const Bucket of = bucket(10, 1, 20);
    Nanos full_at = 0;
    EXPECT_EQ(of.more_at(full_at, start), start);
    ASSERT_TRUE(of.take(full_at, start, 3));
    EXPECT_EQ(of.more_at(full_at, start), start + second / 10);
    EXPECT_EQ(of.more_at(full_at, start + second / 50), start + second / 10);
    EXPECT_EQ(of.more_at(full_at, start + second), start + second);
}

TEST(Bucket, TakesBackNoMoreThanItHolds) {
    const Bucket of = bucket(10, 1, 20);
    Nanos full_at = 0;
    ASSERT_TRUE(of.take(full_at, start, 5));
    of.give_back(full_at, start, 2);
    EXPECT_EQ(of.left(full_at, start), 17);
    of.give_back(full_at, start, max_limit);
    EXPECT_EQ(of.left(full_at, start), 20);
    of.charge(full_at, start, max_limit);
    EXPECT_EQ(of.left(full_at, start), 0);
    EXPECT_EQ(of.ready_at(full_at, start, 20), start + 2 * second);
}

TEST(Bucket, AnyStoredInstantIsABucket) {
    const Bucket of = bucket(10, 1, 20);
    for (const Nanos garbage : {std::numeric_limits<Nanos>::min(), Nanos{-1}, Nanos{0},
                                start + 3650 * 86400 * second, std::numeric_limits<Nanos>::max()}) {
        Nanos full_at = garbage;
        const std::int64_t left = of.left(full_at, start);
        EXPECT_TRUE(left == 0 || left == 20);
        EXPECT_EQ(of.take(full_at, start, 1), left != 0);
        of.charge(full_at, start, 1);
        of.give_back(full_at, start, 1);
        EXPECT_GE(full_at, start);
    }
}

TEST(Bucket, IsNotRefilledByALimitOfASmallerBurst) {
    const Bucket large = bucket(10, 1, 10);
    const Bucket small = bucket(10, 1, 3);
    Nanos full_at = 0;
    ASSERT_TRUE(large.take(full_at, start, 10));
    EXPECT_EQ(small.left(full_at, start), 0);
    small.charge(full_at, start, 2);
    EXPECT_EQ(large.left(full_at, start), 0);
    EXPECT_EQ(large.ready_at(full_at, start, 10), start + second);
    small.give_back(full_at, start, 2);
    EXPECT_EQ(large.left(full_at, start), 2);
    EXPECT_EQ(small.left(full_at, start), 0);
    large.give_back(full_at, start, 6);
    EXPECT_EQ(large.left(full_at, start), 8);
    EXPECT_EQ(small.left(full_at, start), 1);
    small.charge(full_at, start, 2);
    EXPECT_EQ(large.left(full_at, start), 7) << "a smaller bucket owes no more than it holds";
}

TEST(Bucket, HoldsTheRateAtAMillionASecond) {
    const Bucket of = bucket(1'000'000, 1, 1'000'000);
    Nanos full_at = 0;
    std::int64_t taken = 0;
    for (Nanos now = start; now < start + 10 * second; now += 1'000'000) {
        while (of.take(full_at, now, 100)) {
            taken += 100;
        }
    }
    EXPECT_NEAR(static_cast<double>(taken), 11e6, 11e3);
}

TEST(Bucket, RoundsTheRateDownNeverUp) {
    const Bucket of = bucket(3, 1, 1);
    EXPECT_EQ(of.token(), 333'333'334);
    EXPECT_EQ(bucket(10'000'000, 1, 1).token(), 100);
    EXPECT_FALSE(Bucket::of({10'101'011, 1}, 1))
        << "a rounded token would cost more than a hundredth of the rate";
    EXPECT_FALSE(Bucket::of({max_limit, 1}, max_limit));
    EXPECT_TRUE(Bucket::of({max_limit, max_period}, max_limit));
}

TEST(Bucket, ThatWouldTakeThirtyYearsToFillIsNone) {
    EXPECT_FALSE(Bucket::of({1, max_period}, 31));
    EXPECT_TRUE(Bucket::of({1, max_period}, 29));
    EXPECT_FALSE(Bucket::of({1, 1}, max_limit));
    EXPECT_TRUE(Bucket::of({1'000'000, 1}, max_limit));
    EXPECT_EQ(bucket(10, 1, 21).fill_seconds(), 3);
}

// Tokens taken in [s, s + T] never exceed burst + rate * T, for any s and T: at random and greedy instants.
TEST(Bucket, NeverLetsMoreThroughThanBurstAndRateInAnyTime) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
        const std::int64_t burst = 1 + static_cast<std::int64_t>(random() % 30);
        const std::int64_t limit = 1 + static_cast<std::int64_t>(random() % 50);
        const Bucket of = bucket(limit, 1, burst);
        struct Taken {
            Nanos at;
            std::int64_t cost;
        };
        std::vector<Taken> taken;
        Nanos full_at = 0;
        Nanos now = start;
        for (int step = 0; step < 300; ++step) {
            const std::int64_t cost = 1 + static_cast<std::int64_t>(random() % 4);
            const bool greedy = random() % 2 == 0 && cost <= burst;
            now = greedy ? std::max(now, of.ready_at(full_at, now, cost))
                         : now + static_cast<Nanos>(random() % (second / 5));
            if (of.take(full_at, now, cost)) {
                taken.push_back({now, cost});
            }
        }
        for (std::size_t from = 0; from < taken.size(); ++from) {
            std::int64_t sum = 0;
            for (std::size_t to = from; to < taken.size(); ++to) {
                sum += taken[to].cost;
                const Nanos time = taken[to].at - taken[from].at;
                ASSERT_LE(static_cast<__int128>(sum - burst) * second, static_cast<__int128>(limit) * time);
            }
        }
    }
}

/// The fill of a bucket, and what any number of its tokens takes, are numbers that lua/bucket.lua can hold.
TEST(Bucket, TakesTimesThatScriptsHoldExactly) {
    for (const auto& [limit, period, burst] : std::vector<std::array<std::int64_t, 3>>{
             {7, 365 * 86'400, 7}, {332, 365 * 86'400, 947}, {1, 3600, 250'000}, {3, 86'400, 1000}}) {
        const std::optional<Bucket> bucket = Bucket::of({limit, period}, burst);
        ASSERT_TRUE(bucket);
        EXPECT_EQ(static_cast<Nanos>(static_cast<double>(bucket->fill())), bucket->fill());
        EXPECT_EQ(static_cast<Nanos>(static_cast<double>(bucket->token() * (burst - 1))),
                  bucket->token() * (burst - 1));
        EXPECT_EQ(std::floor(static_cast<double>(bucket->fill()) / static_cast<double>(bucket->token())),
                  static_cast<double>(burst));
        EXPECT_GE(bucket->token(), period * 1'000'000'000 / limit) << "never faster than the rate";
        EXPECT_LE(bucket->token(), period * 1'000'000'000 / limit + 128);
    }
}

}  // namespace
}  // namespace rate_limit::bucket_test
