#include "core/machine/bucket_account.h"

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
