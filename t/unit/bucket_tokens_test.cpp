#include "core/bucket/bucket_tokens.h"

#include <gtest/gtest.h>

namespace rate_limit::bucket_tokens_test {
namespace {

constexpr Ticks now = 4'294'967'000;  // the clock wraps soon
constexpr Nanos milli = nanos_in_milli;

/// Terms of 1000 a second and a burst of 10000: 500 live for half a second.
constexpr TokenTerms terms_at(Ticks at) {
    return {milli, 500, at};
}

Bucket bucket_of(std::int64_t limit, std::int64_t burst) {
    return *Bucket::of({limit, 1, false}, burst);
}

BucketRecord with(std::int64_t tokens, Ticks end) {
    BucketRecord record;
    record.leased = static_cast<std::uint64_t>(tokens);
    record.times.end = end;
    return record;
}

TEST(BucketTokens, ALifeIsATwentiethOfTheFillAndASecondAtMost) {
    EXPECT_EQ(lease_of(bucket_of(1000, 10000)).life, 500);
    EXPECT_EQ(lease_of(bucket_of(1000, 10000)).kept, 500);
    EXPECT_EQ(lease_of(bucket_of(100, 100'000)).life, 1000);
    EXPECT_EQ(lease_of(bucket_of(100, 100'000)).kept, 100);
    EXPECT_EQ(lease_of(bucket_of(70, 70)).kept, 4) << "3.5, rounded up";
}

TEST(BucketTokens, WhatRefillsTooSlowlyOrTooFastIsNotLeased) {
    EXPECT_NE(lease_of(bucket_of(2, 1000)).life, 0);
    EXPECT_EQ(lease_of(bucket_of(1, 1000)).life, 0) << "one token in a life";
    EXPECT_EQ(lease_of(bucket_of(50, 25)).life, 0);
    EXPECT_NE(lease_of(bucket_of(1'000'000, 400'000)).life, 0);
    EXPECT_EQ(lease_of(bucket_of(1'000'000, 399'000)).life, 0)
        << "a life is shorter than a round trip may be";
}

TEST(BucketTokens, WhatIsNotLeasedIsKeptBackBesideOthers) {
    EXPECT_EQ(lease_of(bucket_of(1'000'000, 399'000)).kept, 19'000);
    EXPECT_EQ(lease_of(bucket_of(100, 39)).kept, 0) << "one is left to a small bucket";
    EXPECT_EQ(lease_of(bucket_of(1, 1000)).kept, 0);
}

TEST(BucketTokens, AreSpentUntilTheyDie) {
    const Ticks end = end_of(now, 500);
    EXPECT_EQ(end, now + 495) << "the worker's clock may be a turn behind";
    BucketRecord record = with(10, end);
    EXPECT_FALSE(spend(record, terms_at(now), 11));
    EXPECT_TRUE(spend(record, terms_at(now), 3));
    EXPECT_TRUE(spend(record, terms_at(end - 1), 3));
    EXPECT_FALSE(spend(record, terms_at(end), 1));
    EXPECT_EQ(at_hand(record), 4);
    EXPECT_EQ(alive(record, end), 0);
    EXPECT_FALSE(spend(record, terms_at(end + 2'000'000'000), 1)) << "weeks later";
    EXPECT_FALSE(spend(record, terms_at(end - 1'000'000'000), 1)) << "no end is so far ahead";
}

TEST(BucketTokens, ABatchIsKeptAndTheOldestTokensAreSpentFirst) {
    BucketRecord record = with(3, now + 10);
    const Dying dying = keep_batch(record, terms_at(now), {20, now + 480, 5});
    EXPECT_EQ(dying.tokens, 0);
    EXPECT_EQ(at_hand(record), 18);
    EXPECT_EQ(record.batch().end, now + 480) << "those that are left are all new";
}

TEST(BucketTokens, OldTokensDoNotMakeNewOnesDie) {
    BucketRecord record = with(9, now + 10);
    const Dying dying = keep_batch(record, terms_at(now), {20, now + 480, 5});
    EXPECT_EQ(dying.tokens, 4);
    EXPECT_EQ(dying.end, now + 10);
    EXPECT_EQ(at_hand(record), 20);
    EXPECT_EQ(record.batch().end, now + 480);
}

TEST(BucketTokens, NearlyAsYoungOnesDieTogether) {
    BucketRecord record = with(9, now + 300);
    EXPECT_EQ(keep_batch(record, terms_at(now), {20, now + 480, 5}).tokens, 0);
    EXPECT_EQ(at_hand(record), 24);
    EXPECT_EQ(record.batch().end, now + 300);
}

TEST(BucketTokens, WhatComesTooLateIsNotKept) {
    BucketRecord record = with(0, 0);
    const Dying dying = keep_batch(record, terms_at(now), {20, now, 1});
    EXPECT_EQ(dying.tokens, 19);
    EXPECT_EQ(dying.end, now);
    EXPECT_EQ(at_hand(record), 0);

    record = with(7, now - 100);
    const Dying both = keep_batch(record, terms_at(now), {20, now, 1});
    EXPECT_EQ(both.tokens, 26);
    EXPECT_EQ(both.end, now - 100) << "as old as the oldest";
}

TEST(BucketTokens, NothingIsGrantedAndTheRestStays) {
    BucketRecord record = with(7, now + 100);
    EXPECT_EQ(keep_batch(record, terms_at(now), {0, now + 480, 0}).tokens, 0);
    EXPECT_EQ(at_hand(record), 7);
    EXPECT_EQ(record.batch().end, now + 100);
}

TEST(BucketTokens, ARequestPutsBackOnlyWhatLivesAsLong) {
    BucketRecord record = with(5, now + 100);
    EXPECT_TRUE(put_back(record, terms_at(now), {2, now + 100}));
    EXPECT_TRUE(put_back(record, terms_at(now), {2, now + 200}));
    EXPECT_EQ(at_hand(record), 9);
    EXPECT_EQ(record.batch().end, now + 100);
    EXPECT_FALSE(put_back(record, terms_at(now), {2, now + 99}));
    EXPECT_FALSE(put_back(record, terms_at(now + 100), {2, now + 200})) << "those here are dead";
    record.leased = 0;
    EXPECT_TRUE(put_back(record, terms_at(now + 100), {2, now + 200}));
    EXPECT_EQ(record.batch().end, now + 200);
    EXPECT_FALSE(put_back(record, terms_at(now + 200), {1, now + 200}));
}

TEST(BucketTokens, TheDeadAreTakenOutAndAtTheEndAll) {
    BucketRecord record = with(5, now + 100);
    EXPECT_EQ(take_dying(record, terms_at(now), false).tokens, 0);
    EXPECT_EQ(take_dying(record, terms_at(now + 100), false).tokens, 5);
    EXPECT_EQ(at_hand(record), 0);
    record = with(5, now + 100);
    EXPECT_EQ(take_dying(record, terms_at(now), true).tokens, 5);
    EXPECT_EQ(take_dying(record, terms_at(now), true).tokens, 0);
}

TEST(BucketTokens, AreWorthLessTheOlderTheyAre) {
    const Ticks end = end_of(now, 500);
    EXPECT_EQ(worth({600, end}, terms_at(now)), 580 * milli) << "20 ms on the way";
    EXPECT_EQ(worth({600, end}, terms_at(now + 300)), 280 * milli);
    EXPECT_EQ(worth({600, end}, terms_at(now + 579)), 1 * milli);
    EXPECT_EQ(worth({600, end}, terms_at(now + 580)), 0);
    EXPECT_EQ(worth({600, end}, terms_at(now + 2'000'000'000)), 0);
    EXPECT_EQ(worth({600, end}, terms_at(now - 2'000'000'000)), 0) << "of no clock of this machine";
    EXPECT_EQ(worth({20, end}, terms_at(now)), 0);
    EXPECT_EQ(worth({0, end}, terms_at(now)), 0);
}

TEST(BucketTokens, OneWorkerFetchesABatchUntilItsTimeIsOver) {
    BucketRecord record;
    EXPECT_GT(begin_batch(record, terms_at(now)), 0);
    EXPECT_EQ(begin_batch(record, terms_at(now + 499)), 0);
    BucketRecord killed = record;
    EXPECT_GT(begin_batch(killed, terms_at(now + 500)), 0) << "its worker has died";
    BucketRecord taken_over = killed;
    end_batch(taken_over, now, now + 501);
    EXPECT_TRUE(taken_over == killed) << "the batch of the worker that came after it is on its way";
    end_batch(record, now, now);
    EXPECT_GT(begin_batch(record, terms_at(now + 1)), 0);
}

TEST(BucketTokens, BatchesGrowToWhatIsRefilledInALife) {
    BucketRecord record;
    std::int64_t size = 0;
    for (Ticks at = now; at != now + 1000; at += 50) {
        const std::int64_t next = begin_batch(record, terms_at(at));
        EXPECT_GE(next, size);
        size = next;
        (void)keep_batch(record, terms_at(at), {size, end_of(at, 500), size});
        end_batch(record, at, at);
    }
    EXPECT_EQ(size, 500);
}

TEST(BucketTokens, BesideABatchAnEighthOfItIsAskedFor) {
    BucketRecord record;
    for (Ticks at = now; at != now + 1000; at += 50) {
        const std::int64_t size = begin_batch(record, terms_at(at));
        EXPECT_EQ(begin_batch(record, terms_at(at)), 0);
        EXPECT_GE(size_beside(record, terms_at(at)), 1);
        EXPECT_NEAR(static_cast<double>(size_beside(record, terms_at(at))), static_cast<double>(size) / 8, 1);
        (void)keep_batch(record, terms_at(at), {size, end_of(at, 500), size});
        end_batch(record, at, at);
    }
}

TEST(BucketTokens, BatchesGrowHoweverLongTheAnswerTakes) {
    BucketRecord record;
    std::int64_t size = 0;
    for (Ticks at = now; at != now + 9000; at += 300) {
        size = begin_batch(record, terms_at(at));
        const Ticks answered = at + 300;  // 300 of a life of 500; nothing is left of the batch
        (void)keep_batch(record, terms_at(answered), {size, end_of(at, 500), size});
        end_batch(record, at, answered);
    }
    EXPECT_EQ(size, 500);
}

TEST(BucketTokens, BesideASmallBatchAsMuchIsAskedForAsBesideAFirstOne) {
    BucketRecord small;
    small.pace = 0;
    EXPECT_EQ(begin_batch(small, terms_at(now)), 1);
    EXPECT_EQ(size_beside(small, terms_at(now)), size_beside(BucketRecord{}, terms_at(now)));
}

/// Terms of the same bucket for a limit of another rate, which refills less.
constexpr TokenTerms other_terms_at(Ticks at) {
    return {10 * milli, 500, at, 7};
}

TEST(BucketTokens, AnotherRateLeavesThemAlone) {
    BucketRecord record = with(10, now + 100);
    const BucketRecord before = record;
    const TokenTerms others = other_terms_at(now);
    EXPECT_TRUE(are_others(record, others));
    EXPECT_FALSE(are_others(record, terms_at(now)));
    EXPECT_EQ(alive(record, others), 0);
    EXPECT_FALSE(spend(record, others, 1));
    EXPECT_FALSE(put_back(record, others, {1, now + 300}));
    EXPECT_EQ(take_dying(record, other_terms_at(now + 100), true).tokens, 0);
    const Dying all = keep_batch(record, others, {5, now + 480, 2});
    EXPECT_EQ(all.tokens, 3);
    EXPECT_EQ(all.end, now + 480);
    EXPECT_TRUE(record == before);
}

TEST(BucketTokens, WhatNobodyGivesBackIsNobodys) {
    BucketRecord record = with(10, now + 100);
    EXPECT_TRUE(are_others(record, other_terms_at(now + 100 + 9999)));
    EXPECT_FALSE(are_others(record, other_terms_at(now + 100 + 10'000)));
    const Ticks at = now + 20'000;
    EXPECT_EQ(take_forgotten(record, other_terms_at(at)), 10);
    EXPECT_EQ(keep_batch(record, other_terms_at(at), {5, at + 480, 2}).tokens, 0);
    EXPECT_EQ(at_hand(record), 3);
    EXPECT_FALSE(are_others(record, other_terms_at(at)));
}

TEST(BucketTokens, AClockThatWasReadEarlierFindsTheBatchOfAnother) {
    BucketRecord record;
    EXPECT_GT(begin_batch(record, terms_at(now)), 0);
    EXPECT_EQ(begin_batch(record, terms_at(now - 1)), 0);
    EXPECT_EQ(begin_batch(record, terms_at(now + 499)), 0);
    EXPECT_GT(begin_batch(record, terms_at(now + 500)), 0) << "nobody answers it";
}

TEST(BucketTokens, WhatIsForgottenIsTold) {
    BucketRecord record = with(10, now + 100);
    EXPECT_EQ(take_forgotten(record, terms_at(now + 20'000)), 0) << "own ones go back";
    EXPECT_EQ(take_forgotten(record, other_terms_at(now + 100 + 9999)), 0);
    EXPECT_EQ(at_hand(record), 10);
    EXPECT_EQ(take_forgotten(record, other_terms_at(now + 100 + 10'000)), 10);
    EXPECT_EQ(at_hand(record), 0);
}

TEST(BucketTokens, MarksTellRatesAndBurstsApart) {
    EXPECT_NE(mark_of(milli, 20'000 * milli), mark_of(10 * milli, 20'000 * milli)) << "rates";
    EXPECT_NE(mark_of(milli, 20'000 * milli), mark_of(milli, 40'000 * milli)) << "bursts";
    EXPECT_LT(mark_of(milli, 20'000 * milli), 1U << 20);
}

TEST(BucketTokens, BatchesShrinkToWhatIsSpent) {
    BucketRecord record;
    std::int64_t size = 0;
    for (Ticks at = now; at != now + 20'000; at += 1000) {
        size = begin_batch(record, terms_at(at));
        end_batch(record, at, at);
        (void)keep_batch(record, terms_at(at), {size, end_of(at, 500), 1});
        (void)spend(record, terms_at(at), 3);
        (void)take_dying(record, terms_at(at + 500), false);
    }
    EXPECT_LE(size, 6);
    EXPECT_GE(size, 1);
}

}  // namespace
}  // namespace rate_limit::bucket_tokens_test
