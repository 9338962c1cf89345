#include "core/machine/bucket_account.h"

#include <limits>

#include <gtest/gtest.h>

namespace rate_limit {
namespace {

constexpr Millis now = 1'700'000'000'123;

Bucket ten_a_second() {
    return *Bucket::of({10, 1, false}, 20);
}

TEST(BucketAccount, AnEmptyRecordIsAFullBucket) {
    const WindowRecord record;
    EXPECT_EQ(shown_of(record, ten_a_second(), now).used, 0);
    EXPECT_EQ(shown_of(record, ten_a_second(), now).reset, now);
}

TEST(BucketAccount, TakesAndSaysWhenThereIsMore) {
    WindowRecord record;
    const Bucket bucket = ten_a_second();
    EXPECT_TRUE(take(record, bucket, now, 18));
    EXPECT_EQ(shown_of(record, bucket, now).used, 18);
    EXPECT_EQ(shown_of(record, bucket, now).reset, now + 100);
    EXPECT_EQ(record.reset, now + 1800);
    EXPECT_FALSE(take(record, bucket, now, 3));
    EXPECT_EQ(refusal_of(record, bucket, now, 3).used, 18);
    EXPECT_EQ(refusal_of(record, bucket, now, 3).reset, now + 100);
    EXPECT_TRUE(take(record, bucket, now + 100, 3));
    EXPECT_EQ(shown_of(record, bucket, now + 100).used, 20);
}

TEST(BucketAccount, ACostOfNothingLeavesNoTrace) {
    WindowRecord record;
    EXPECT_TRUE(take(record, ten_a_second(), now, 0));
    charge(record, ten_a_second(), now, 0);
    EXPECT_EQ(record, WindowRecord{});
}

TEST(BucketAccount, GivesBackAndCharges) {
    WindowRecord record;
    const Bucket bucket = ten_a_second();
    EXPECT_TRUE(take(record, bucket, now, 5));
    give_back(record, bucket, now, 3);
    EXPECT_EQ(shown_of(record, bucket, now).used, 2);
    charge(record, bucket, now, 50);
    EXPECT_EQ(shown_of(record, bucket, now).used, 20);
    give_back(record, bucket, now, 50);
    EXPECT_EQ(shown_of(record, bucket, now).used, 0);
    EXPECT_LE(record.reset, now);
}

TEST(BucketAccount, AnInstantBeyondTheLongestFillIsABucketThatIsEmptyNow) {
    const Bucket bucket = ten_a_second();
    const Millis hour = 3'600'000;
    for (const Nanos ahead : {nanos_of(now + hour), std::numeric_limits<Nanos>::max()}) {
        WindowRecord record;
        ASSERT_TRUE(take(record, bucket, now + hour, 5));
        record.used = ahead;
        EXPECT_TRUE(is_beyond(record, bucket, now));
        EXPECT_EQ(shown_of(record, bucket, now).used, 20);
        EXPECT_FALSE(take(record, bucket, now, 1));
        EXPECT_FALSE(is_beyond(record, bucket, now));
        EXPECT_EQ(record.reset, now + 2000);
        EXPECT_FALSE(take(record, bucket, now + 99, 1)) << "refusals do not put it off";
        EXPECT_TRUE(take(record, bucket, now + 2000, 20));
    }
}

TEST(BucketAccount, ALimitOfASmallerBurstBelievesTheLongerFill) {
    const Bucket large = ten_a_second();
    const Bucket small = *Bucket::of({10, 1, false}, 3);
    WindowRecord record;
    ASSERT_TRUE(take(record, large, now, 20));
    EXPECT_FALSE(take(record, small, now, 1));
    charge(record, small, now, 2);
    give_back(record, small, now, 1);
    EXPECT_EQ(shown_of(record, large, now).used, 19);
    EXPECT_EQ(shown_of(record, small, now).used, 3);
    EXPECT_TRUE(take(record, small, now + 1900, 3));
    EXPECT_TRUE(take(record, small, now + 9000, 1));
    record.used = nanos_of(now + 9000 + 1400);
    EXPECT_TRUE(is_beyond(record, small, now + 9000))
        << "what has been full knows nothing of the longer fill";
}

TEST(BucketAccount, AWorkerWhoseClockIsALittleBehindRefillsNothing) {
    const Bucket bucket = ten_a_second();
    WindowRecord record;
    ASSERT_TRUE(take(record, bucket, now, 20));
    EXPECT_FALSE(take(record, bucket, now - 500, 1));
    charge(record, bucket, now - 500, 1);
    EXPECT_EQ(record.reset, now + 2000);
    EXPECT_EQ(shown_of(record, bucket, now + 1000).used, 10);
}

constexpr Millis longer = 60'125;  // a minute, and a sixteenth of two seconds

/// A copy of what the primary has said at `now`: so much is missing, and the key lives so much longer.
WindowRecord told(Millis missing) {
    WindowRecord record;
    learn_bucket(record, ten_a_second().fill(), now, nanos_of(now + missing));
    note_life(record, record.reset + longer);
    return record;
}

TEST(BucketAccount, APlainCommandMayTakeWhatIsKnownToBeThere) {
    const Bucket bucket = ten_a_second();
    EXPECT_EQ(stored_longer(bucket.fill()), longer);
    EXPECT_EQ(known_life(told(0), bucket, now, 1), now + longer);
    EXPECT_EQ(known_life(told(1000), bucket, now, 1), now + 1000 + longer);
    EXPECT_NE(known_life(told(1800), bucket, now, 1), 0) << "a twentieth is left over";
    EXPECT_EQ(known_life(told(1801), bucket, now, 1), 0);
    EXPECT_NE(known_life(told(0), bucket, now, 19), 0);
    EXPECT_EQ(known_life(told(0), bucket, now, 20), 0);
    EXPECT_EQ(known_life(told(0), bucket, now, max_limit), 0);
    EXPECT_EQ(known_life(told(0), bucket, now, 0), 0);
}

TEST(BucketAccount, WhatHasBeenRefilledSinceOthersMayHaveTaken) {
    const Bucket bucket = ten_a_second();
    EXPECT_EQ(known_life(told(1900), bucket, now + 5000, 1), 0);
    WindowRecord record = told(0);
    charge(record, bucket, now, 19);
    EXPECT_EQ(known_life(record, bucket, now, 1), 0) << "nor what this machine has taken";
}

TEST(BucketAccount, TheKeyHasToOutliveTheBucket) {
    const Bucket bucket = ten_a_second();
    const WindowRecord record = told(0);
    const Millis last = now + longer - 1000 - 100;
    EXPECT_NE(known_life(record, bucket, last, 1), 0);
    EXPECT_EQ(known_life(record, bucket, last + 1, 1), 0);
    for (const Millis turn : {Millis{1} << 31, Millis{1} << 32, Millis{1} << 33}) {
        EXPECT_EQ(known_life(record, bucket, now + turn, 1), 0) << "`ticket` has but the low half";
    }
    WindowRecord taken = record;
    charge(taken, bucket, last, 1);
    EXPECT_EQ(known_life(taken, bucket, last, 1), 0);
}

TEST(BucketAccount, TheKeyIsKnownOnlyByThePrimarysWord) {
    const Bucket bucket = ten_a_second();
    WindowRecord local;
    ASSERT_TRUE(take(local, bucket, now, 1));
    EXPECT_EQ(known_life(local, bucket, now, 1), 0);
    WindowRecord unknown;
    learn_bucket(unknown, bucket.fill(), now, nanos_of(now));
    EXPECT_EQ(known_life(unknown, bucket, now, 1), 0);
    WindowRecord reset = told(100);
    refill(reset);
    EXPECT_EQ(known_life(reset, bucket, now, 1), 0);
    EXPECT_EQ(known_life(WindowRecord{}, bucket, now, 1), 0);
}

TEST(BucketAccount, TheKeyMayHaveTheLongestTimeOfAnotherLimit) {
    const Bucket small = *Bucket::of({10, 1, false}, 10);
    const Bucket large = *Bucket::of({10, 1, false}, 40);
    EXPECT_EQ(known_life(told(100), small, now, 1), 0);
    EXPECT_EQ(known_life(told(100), large, now, 1), 0);
    WindowRecord record = told(100);
    learn_bucket(record, large.fill(), now, record.used);
    EXPECT_NE(known_life(record, large, now, 1), 0);
    EXPECT_EQ(known_life(record, ten_a_second(), now, 1), 0);
}

TEST(BucketAccount, ABucketOfThirtyYearsIsLeftToTheScript) {
    const Bucket bucket = *Bucket::of({1, 31'536'000, false}, 30);
    WindowRecord record;
    for (Millis missing = 0; missing < 28LL * 31'536'000'000; missing += 86'400'000) {
        learn_bucket(record, bucket.fill(), now, nanos_of(now + missing));
        note_life(record, record.reset + stored_longer(bucket.fill()));
        const Millis known = known_life(record, bucket, now, 1);
        EXPECT_TRUE(known == 0 || known == record.reset + stored_longer(bucket.fill())) << missing;
    }
}

TEST(BucketAccount, EmptierBucketsAreEvictedLater) {
    const Bucket bucket = ten_a_second();
    WindowRecord fuller;
    WindowRecord emptier;
    ASSERT_TRUE(take(fuller, bucket, now, 2));
    ASSERT_TRUE(take(emptier, bucket, now, 15));
    EXPECT_EQ(eviction_rank(fuller, now).tier, EvictionTier::local);
    EXPECT_LT(eviction_rank(fuller, now).share, eviction_rank(emptier, now).share);
    EXPECT_LE(eviction_rank(emptier, now).share, 1.0);
    EXPECT_EQ(eviction_rank(fuller, now + 200).tier, EvictionTier::ended);
}

}  // namespace
}  // namespace rate_limit
