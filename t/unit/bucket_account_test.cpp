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
