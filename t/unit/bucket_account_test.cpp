#include "core/bucket/bucket_account.h"
#include "core/bucket/bucket_tokens.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/machine/records.h"
namespace rate_limit::bucket_account_test {
namespace {

constexpr Millis now = 1'700'000'000'123;

Bucket ten_a_second() {
    return *Bucket::of({10, 1}, 20);
}

TEST(BucketAccount, AnEmptyRecordIsAFullBucket) {
    const BucketRecord record;
    EXPECT_EQ(shown_of(record, ten_a_second(), now).used, 0);
    EXPECT_EQ(shown_of(record, ten_a_second(), now).reset, now);
}

TEST(BucketAccount, TakesAndSaysWhenThereIsMore) {
    BucketRecord record;
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
    BucketRecord record;
    EXPECT_TRUE(take(record, ten_a_second(), now, 0));
    charge(record, ten_a_second(), now, 0);
    EXPECT_EQ(record, BucketRecord{});
}

TEST(BucketAccount, ACostOfNothingOfASmallerBurstGivesNothingBack) {
    BucketRecord record;
    EXPECT_TRUE(take(record, ten_a_second(), now, 15));
    const BucketRecord before = record;
    EXPECT_TRUE(take(record, *Bucket::of({10, 1}, 5), now, 0));
    EXPECT_FALSE(take(record, *Bucket::of({10, 1}, 5), now, 1));
    EXPECT_EQ(record, before);
}

TEST(BucketAccount, GivesBackAndCharges) {
    BucketRecord record;
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
        BucketRecord record;
        ASSERT_TRUE(take(record, bucket, now + hour, 5));
        record.full_at = ahead;
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
    const Bucket small = *Bucket::of({10, 1}, 3);
    BucketRecord record;
    ASSERT_TRUE(take(record, large, now, 20));
    EXPECT_FALSE(take(record, small, now, 1));
    charge(record, small, now, 2);
    give_back(record, small, now, 1);
    EXPECT_EQ(shown_of(record, large, now).used, 19);
    EXPECT_EQ(shown_of(record, small, now).used, 3);
    EXPECT_TRUE(take(record, small, now + 1900, 3));
    EXPECT_TRUE(take(record, small, now + 9000, 1));
    record.full_at = nanos_of(now + 9000 + 1400);
    EXPECT_TRUE(is_beyond(record, small, now + 9000))
        << "what has been full knows nothing of the longer fill";
}

TEST(BucketAccount, AWorkerWhoseClockIsALittleBehindRefillsNothing) {
    const Bucket bucket = ten_a_second();
    BucketRecord record;
    ASSERT_TRUE(take(record, bucket, now, 20));
    EXPECT_FALSE(take(record, bucket, now - 500, 1));
    charge(record, bucket, now - 500, 1);
    EXPECT_EQ(record.reset, now + 2000);
    EXPECT_EQ(shown_of(record, bucket, now + 1000).used, 10);
}

constexpr Millis longer = 60'125;           // a minute, and a sixteenth of two seconds
constexpr std::uint32_t ticks = 77 * 1024;  // now, by the steady clock
constexpr Millis known_for = 58 * 1024;     // records count in units of 1,024 milliseconds

/// A copy of what the primary has said at `now`: so much is missing, and the key lives so much longer.
BucketRecord told(Millis missing) {
    BucketRecord record;
    learn_bucket(record, ten_a_second().fill(), now, nanos_of(now + missing));
    note_stored(record, ticks + static_cast<std::uint32_t>(record.reset + longer - now), 77);
    return record;
}

TEST(BucketAccount, APlainCommandMayTakeWhatIsKnownToBeThere) {
    const Bucket bucket = ten_a_second();
    EXPECT_EQ(stored_longer(bucket.fill()), longer);
    EXPECT_EQ(known_stored(told(0), bucket, now, ticks, 1).life, known_for);
    EXPECT_EQ(known_stored(told(0), bucket, now, ticks, 1).returned, 77U);
    EXPECT_EQ(known_stored(told(1000), bucket, now, ticks, 1).life, known_for + 1024);
    EXPECT_NE(known_stored(told(1800), bucket, now, ticks, 1).life, 0) << "a twentieth is left over";
    EXPECT_EQ(known_stored(told(1801), bucket, now, ticks, 1).life, 0);
    EXPECT_NE(known_stored(told(0), bucket, now, ticks, 19).life, 0);
    EXPECT_EQ(known_stored(told(0), bucket, now, ticks, 20).life, 0);
    EXPECT_EQ(known_stored(told(0), bucket, now, ticks, max_limit).life, 0);
    EXPECT_EQ(known_stored(told(0), bucket, now, ticks, 0).life, 0);
}

TEST(BucketAccount, WhatIsUnderWayCountsAsTaken) {
    const Bucket bucket = ten_a_second();
    BucketRecord record = told(0);
    int sent = 0;
    for (; known_stored(record, bucket, now, ticks, 2).life != 0; ++sent) {
        send_plain(record, 2);
    }
    EXPECT_EQ(sent, 9) << "nine times two, and a twentieth is left over";
    end_plain(record, 2);
    EXPECT_NE(known_stored(record, bucket, now, ticks, 2).life, 0);
    end_plain(record, 100);
    EXPECT_NE(known_stored(record, bucket, now, ticks, 19).life, 0);
    send_plain(record, 19);
    EXPECT_EQ(eviction_rank(record, now - 1).tier, EvictionTier::copy) << "it does not keep a record";
    note_stored(record, ticks + 60'000, 78);
    EXPECT_EQ(known_stored(record, bucket, now, ticks, 19).returned, 78U)
        << "what a killed worker had sent is over";
}

TEST(BucketAccount, AWordOfARefundTellsWhatHasBeenGivenBack) {
    const Bucket bucket = ten_a_second();
    BucketRecord record = told(1000);
    note_returned(record, 78);
    EXPECT_EQ(known_stored(record, bucket, now, ticks, 1).returned, 78U);
    EXPECT_EQ(known_stored(record, bucket, now, ticks, 1).life, known_for + 1024);
    BucketRecord unknown;
    learn_bucket(unknown, bucket.fill(), now, nanos_of(now + 1000));
    note_returned(unknown, 78);
    EXPECT_EQ(known_stored(unknown, bucket, now, ticks, 1).life, 0) << "it says nothing of the key's life";
}

TEST(BucketAccount, WhatHasBeenRefilledSinceOthersMayHaveTaken) {
    const Bucket bucket = ten_a_second();
    EXPECT_EQ(known_stored(told(1900), bucket, now + 5000, ticks + 5000, 1).life, 0);
    BucketRecord record = told(0);
    charge(record, bucket, now, 19);
    EXPECT_EQ(known_stored(record, bucket, now, ticks, 1).life, 0) << "nor what this machine has taken";
}

TEST(BucketAccount, IsAskedAboutEverMoreSeldomWhileNothingGoesBack) {
    const Bucket slow = *Bucket::of({1, 3600}, 3);
    BucketRecord record;
    learn_bucket(record, slow.fill(), now, nanos_of(now + 10'000'000));
    Millis at = now;
    for (const Millis pause : {1000, 2000, 4000, 8000, 10'000, 10'000}) {
        EXPECT_FALSE(ask_about(record, at + pause - 1));
        at += pause;
        EXPECT_TRUE(is_to_be_asked(record, at));
        EXPECT_TRUE(ask_about(record, at));
        EXPECT_FALSE(ask_about(record, at)) << "one request does";
        learn_bucket(record, slow.fill(), at, nanos_of(now + 10'000'000));
    }
    learn_bucket(record, slow.fill(), at, nanos_of(now + 6'000'000));
    EXPECT_TRUE(is_to_be_asked(record, at + 1000)) << "something has gone back";
}

TEST(BucketAccount, ABucketThatWillNotBeFullSoonIsFilling) {
    const Bucket bucket = ten_a_second();
    EXPECT_FALSE(known_stored(told(0), bucket, now, ticks, 1).filling);
    EXPECT_FALSE(known_stored(told(99), bucket, now, ticks, 1).filling);
    EXPECT_TRUE(known_stored(told(100), bucket, now, ticks, 1).filling);
    EXPECT_TRUE(known_stored(told(1000), bucket, now + 900, ticks + 900, 1).filling);
    EXPECT_FALSE(known_stored(told(1000), bucket, now + 901, ticks + 901, 1).filling);
}

TEST(BucketAccount, TheKeyHasToOutliveTheBucket) {
    const Bucket bucket = ten_a_second();
    const BucketRecord record = told(0);
    const Millis last = now + known_for - 1000 - 100;
    EXPECT_NE(known_stored(record, bucket, last, ticks + static_cast<std::uint32_t>(last - now), 1).life, 0);
    EXPECT_EQ(
        known_stored(record, bucket, last + 1, ticks + static_cast<std::uint32_t>(last - now) + 1, 1).life,
        0);
    for (const Millis turn : {Millis{1} << 31, Millis{1} << 32, Millis{1} << 33}) {
        EXPECT_EQ(known_stored(record, bucket, now + turn, ticks + static_cast<std::uint32_t>(turn), 1).life,
                  0)
            << "`events` has but the lower bits";
    }
    BucketRecord taken = record;
    charge(taken, bucket, last, 1);
    EXPECT_EQ(known_stored(taken, bucket, last, ticks + static_cast<std::uint32_t>(last - now), 1).life, 0);
}

TEST(BucketAccount, TheKeyIsKnownOnlyByThePrimarysWord) {
    const Bucket bucket = ten_a_second();
    BucketRecord local;
    ASSERT_TRUE(take(local, bucket, now, 1));
    EXPECT_EQ(known_stored(local, bucket, now, ticks, 1).life, 0);
    BucketRecord unknown;
    learn_bucket(unknown, bucket.fill(), now, nanos_of(now));
    EXPECT_EQ(known_stored(unknown, bucket, now, ticks, 1).life, 0);
    BucketRecord reset = told(100);
    refill(reset, now);
    EXPECT_EQ(known_stored(reset, bucket, now, ticks, 1).life, 0);
    EXPECT_EQ(known_stored(BucketRecord{}, bucket, now, ticks, 1).life, 0);
}

TEST(BucketAccount, TheKeyMayHaveTheLongestTimeOfAnotherLimit) {
    const Bucket small = *Bucket::of({10, 1}, 10);
    const Bucket large = *Bucket::of({10, 1}, 40);
    EXPECT_EQ(known_stored(told(100), small, now, ticks, 1).life, 0);
    EXPECT_EQ(known_stored(told(100), large, now, ticks, 1).life, 0);
    BucketRecord record = told(100);
    learn_bucket(record, large.fill(), now, record.full_at);
    EXPECT_NE(known_stored(record, large, now, ticks, 1).life, 0);
    EXPECT_EQ(known_stored(record, ten_a_second(), now, ticks, 1).life, 0);
}

TEST(BucketAccount, ABucketOfMoreThanADayIsLeftToTheScript) {
    for (const std::int64_t burst : {24, 25, 200'000}) {
        const Bucket bucket = *Bucket::of({1, 3600}, burst);
        BucketRecord record;
        for (Millis missing = 0; missing < bucket.fill() / nanos_in_milli;
             missing += 3'600'000 * (burst / 12)) {
            learn_bucket(record, bucket.fill(), now, nanos_of(now + missing));
            note_stored(record,
                        ticks + static_cast<std::uint32_t>(record.reset + stored_longer(bucket.fill()) - now),
                        77);
            const Millis known = known_stored(record, bucket, now, ticks, 1).life;
            EXPECT_EQ(known != 0, burst == 24 && missing < 78'000'000) << burst << ' ' << missing;
            EXPECT_LE(now + known, record.reset + stored_longer(bucket.fill()));
        }
    }
}

TEST(BucketAccount, ALeaseOfTheSameBucketNeedsTheRoom) {
    BucketRecord record = told(0);
    const TokenTerms terms{ten_a_second().token(), 100, 5};
    ASSERT_NE(begin_batch(record, terms), 0);
    EXPECT_EQ(known_stored(record, ten_a_second(), now, ticks, 1).life, 0);
    note_stored(record, ticks + static_cast<std::uint32_t>(record.reset + longer - now), 77);
    EXPECT_EQ(known_stored(record, ten_a_second(), now, ticks, 1).life, 0);
    EXPECT_EQ(record.batch().turn, 5U);
    (void)keep_batch(record, terms, {3, 50, 0});
    end_batch(record, terms.now, terms);
    note_stored(record, ticks + static_cast<std::uint32_t>(record.reset + longer - now), 77);
    EXPECT_EQ(record.batch().end, 50U);
    EXPECT_EQ(receipt_of(record, now).mark, 0U);
}

TEST(BucketAccount, WhatGoesBackToARecordThatWasForgottenIsWorthNothing) {
    const Bucket bucket = ten_a_second();
    BucketRecord record;
    ASSERT_TRUE(take(record, bucket, now, 20));
    const BucketReceipt receipt = receipt_of(record, now);
    BucketRecord other;
    ASSERT_TRUE(take(other, bucket, now + 1000, 20));
    give_back(other, bucket, now + 1000, 10, receipt);
    EXPECT_EQ(shown_of(other, bucket, now + 1000).used, 20);
    give_back(record, bucket, now + 1000, 10, receipt);
    EXPECT_EQ(shown_of(record, bucket, now + 1000).used, 0);
}

TEST(BucketAccount, WhatWasTakenBeforeAnOperatorFilledItIsWorthNothing) {
    const Bucket bucket = ten_a_second();
    for (const bool wholly : {true, false}) {
        BucketRecord record;
        ASSERT_TRUE(take(record, bucket, now, 20));
        const BucketReceipt receipt{receipt_of(record, now).mark, now - 1000};
        if (wholly) {
            refill(record, now);
        } else {
            give_back(record, bucket, now, 20);
        }
        ASSERT_TRUE(take(record, bucket, now, 20));
        give_back(record, bucket, now, 10, receipt);
        EXPECT_EQ(shown_of(record, bucket, now).used, 20);
    }
}

/// A request takes three tokens as the last one, and leaves.
TEST(BucketAccount, OnlyTheLastGivesBack) {
    const Bucket bucket = ten_a_second();
    const auto last = [](const BucketRecord& record) {
        BucketReceipt receipt = receipt_of(record, now);
        receipt.only_last = true;
        return receipt;
    };
    BucketRecord record;
    ASSERT_TRUE(take(record, bucket, now, 5));
    const BucketReceipt first = last(record);
    ASSERT_TRUE(take(record, bucket, now, 3));
    const BucketReceipt second = last(record);
    BucketRecord untouched = record;
    give_back(record, bucket, now + 10, 5, first);
    EXPECT_EQ(record.full_at, untouched.full_at) << "another one has taken something since";
    give_back(record, bucket, now + 10, 3, second);
    EXPECT_EQ(record.full_at, untouched.full_at - 3 * bucket.token());
    give_back(record, bucket, now + 10, 3, second);
    EXPECT_EQ(record.full_at, untouched.full_at - 3 * bucket.token()) << "once";
    give_back(record, bucket, now + 20, 5, first);
    EXPECT_EQ(shown_of(record, bucket, now + 20).used, 0) << "now the first is the last";
}

TEST(BucketAccount, TheLastIsTheLastWhateverOthersGiveBack) {
    const Bucket bucket = ten_a_second();
    BucketRecord record;
    ASSERT_TRUE(take(record, bucket, now, 5));
    const BucketReceipt other = receipt_of(record, now);
    ASSERT_TRUE(take(record, bucket, now, 3));
    BucketReceipt receipt = receipt_of(record, now);
    receipt.only_last = true;
    give_back(record, bucket, now, 5, other);
    EXPECT_EQ(shown_of(record, bucket, now).used, 3);
    give_back(record, bucket, now, 3, receipt);
    EXPECT_EQ(shown_of(record, bucket, now).used, 0);
    receipt.mark = 0;
    ASSERT_TRUE(take(record, bucket, now, 3));
    give_back(record, bucket, now, 3, receipt);
    EXPECT_EQ(shown_of(record, bucket, now).used, 3) << "nothing is known of what it took";
}

TEST(BucketAccount, EmptierBucketsAreEvictedLater) {
    const Bucket bucket = ten_a_second();
    BucketRecord fuller;
    BucketRecord emptier;
    ASSERT_TRUE(take(fuller, bucket, now, 2));
    ASSERT_TRUE(take(emptier, bucket, now, 15));
    EXPECT_EQ(eviction_rank(fuller, now).tier, EvictionTier::local);
    EXPECT_LT(eviction_rank(fuller, now).share, eviction_rank(emptier, now).share);
    EXPECT_LE(eviction_rank(emptier, now).share, 1.0);
    EXPECT_EQ(eviction_rank(fuller, now + 200).tier, EvictionTier::ended);
    fuller.leased = 1;
    EXPECT_EQ(eviction_rank(fuller, now + 200).tier, EvictionTier::lease)
        << "tokens outlive the bucket's filling";
    EXPECT_EQ(eviction_rank(fuller, now + 3'600'000).tier, EvictionTier::lease)
        << "the clock was set forward";
    EXPECT_EQ(eviction_rank(fuller, now + 86'401'000).tier, EvictionTier::ended) << "but not for ever";
}

}  // namespace
}  // namespace rate_limit::bucket_account_test
