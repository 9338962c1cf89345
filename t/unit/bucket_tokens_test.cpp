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
    return *Bucket::of({limit, 1}, burst);
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

/// Four that die in 10 ms, and twenty that die in 480.
BucketRecord of_two_ages() {
    BucketRecord record = with(9, now + 10);
    EXPECT_EQ(keep_batch(record, terms_at(now), {20, now + 480, 5}).tokens, 0);
    return record;
}

TEST(BucketTokens, OldTokensDoNotMakeNewOnesDie) {
    BucketRecord record = of_two_ages();
    EXPECT_EQ(at_hand(record), 24);
    EXPECT_EQ(alive(record, now + 9), 24);
    EXPECT_EQ(alive(record, now + 10), 20);
    EXPECT_EQ(alive(record, now + 479), 20);
    EXPECT_EQ(alive(record, now + 480), 0);
    EXPECT_EQ(first_end(record, now), now + 10);
    EXPECT_EQ(first_end(record, now + 10), now + 480);
    EXPECT_EQ(last_end(record), now + 480);
}

TEST(BucketTokens, OfTwoAgesTheOlderAreSpentFirst) {
    BucketRecord record = of_two_ages();
    EXPECT_TRUE(spend(record, terms_at(now), 6));
    EXPECT_EQ(alive(record, now + 10), 18);
    EXPECT_EQ(first_end(record, now), now + 480);
    EXPECT_FALSE(spend(record, terms_at(now), 19));
    EXPECT_TRUE(spend(record, terms_at(now), 18));
    EXPECT_EQ(at_hand(record), 0);
}

TEST(BucketTokens, OfTwoAgesTheYoungerAreSpentWhereTheOlderAreDead) {
    BucketRecord record = of_two_ages();
    EXPECT_FALSE(spend(record, terms_at(now + 10), 21));
    EXPECT_TRUE(spend(record, terms_at(now + 10), 15));
    EXPECT_EQ(alive(record, now + 10), 5);
    const Dying dying = take_dying(record, terms_at(now + 10), false);
    EXPECT_EQ(dying.tokens, 4);
    EXPECT_EQ(dying.end, now + 10);
    EXPECT_EQ(at_hand(record), 5);
    EXPECT_EQ(first_end(record, now + 10), now + 480);
}

TEST(BucketTokens, OfTwoAgesAllGoBackAsOldAsTheOldest) {
    BucketRecord record = of_two_ages();
    const Dying dying = take_dying(record, terms_at(now), true);
    EXPECT_EQ(dying.tokens, 24);
    EXPECT_EQ(dying.end, now + 10);
    EXPECT_EQ(at_hand(record), 0);
}

TEST(BucketTokens, OfThreeAgesTheClosestDieTogether) {
    for (const Ticks end : {now + 20, now + 470, now + 490}) {
        BucketRecord record = of_two_ages();
        EXPECT_EQ(keep_batch(record, terms_at(now), {7, end, 0}).tokens, 0);
        EXPECT_EQ(at_hand(record), 31);
        EXPECT_EQ(first_end(record, now), now + 10) << end - now;
        EXPECT_EQ(alive(record, now + 10), end == now + 20 ? 20 : 27) << end - now;
        EXPECT_EQ(last_end(record), end == now + 470 ? end : now + 480) << end - now;
    }
}

TEST(BucketTokens, TooManyYoungerOnesDieWithTheOlderOrLetThemDie) {
    constexpr std::int64_t many = BucketRecord::max_younger + 1;
    BucketRecord record = with(9, now + 300);
    EXPECT_EQ(keep_batch(record, terms_at(now), {many, now + 480, 5}).tokens, 0);
    EXPECT_EQ(at_hand(record), many + 4);
    EXPECT_EQ(last_end(record), now + 300);
    record = with(9, now + 10);
    const Dying dying = keep_batch(record, terms_at(now), {many, now + 480, 5});
    EXPECT_EQ(dying.tokens, 4);
    EXPECT_EQ(dying.end, now + 10);
    EXPECT_EQ(at_hand(record), many);
    EXPECT_EQ(first_end(record, now), now + 480);
}

/// Returns the terms of terms_at(), for a primary whose answers take so long.
TokenTerms far_at(Ticks at, Millis answer, Millis life = 500) {
    TokenTerms terms = terms_at(at);
    terms.answer = answer;
    terms.life = life;
    return terms;
}

TEST(BucketTokens, ABatchIsBegunAheadWhenTheTokensLastLessThanTwoAnswers) {
    BucketRecord record;
    const std::int64_t size = begin_batch(record, far_at(now, 60));  // lasts (500 - 5 - 60) / 2
    end_batch(record, now, far_at(now + 60, 60));
    const std::int64_t enough = size * 120 / 217;
    record.leased = static_cast<std::uint64_t>(enough);
    record.times.end = now + 490;
    EXPECT_FALSE(may_fetch_ahead(record, far_at(now + 60, 60)));
    record.leased = static_cast<std::uint64_t>(enough - 1);
    EXPECT_TRUE(may_fetch_ahead(record, far_at(now + 60, 60)));
    EXPECT_FALSE(may_fetch_ahead(record, far_at(now + 60, 0))) << "how far it is is not known";
    EXPECT_FALSE(may_fetch_ahead(record, far_at(now + 60, 495))) << "they would be dead";
    EXPECT_GT(begin_batch(record, far_at(now + 60, 60), true), 0);
    EXPECT_FALSE(may_fetch_ahead(record, far_at(now + 60, 60))) << "enough is on its way";
}

TEST(BucketTokens, BatchesOfAShortLifeFollowCloserThanTheAnswers) {
    BucketRecord record;
    record.pace = start_pace + 2;
    std::size_t batches = 0;
    while (may_fetch_ahead(record, far_at(now, 60, 100))) {
        EXPECT_GT(begin_batch(record, far_at(now, 60, 100), true), 0);
        ASSERT_LT(++batches, BucketRecord::max_fetching);
    }
    EXPECT_EQ(batches, 5U) << "they last 17 ms each, and are there in 60";
    EXPECT_EQ(begin_batch(record, far_at(now, 60, 100)), 0);
    EXPECT_GT(begin_batch(record, far_at(now + 100, 60, 100)), 0) << "all are lost";
    EXPECT_EQ(record.fetching, 1U);
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
    end_batch(taken_over, now, terms_at(now + 501));
    EXPECT_TRUE(taken_over == killed) << "the batch of the worker that came after it is on its way";
    end_batch(record, now, terms_at(now));
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
        end_batch(record, at, terms_at(at));
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
        end_batch(record, at, terms_at(at));
    }
}

TEST(BucketTokens, BatchesGrowHoweverLongTheAnswerTakes) {
    BucketRecord record;
    std::int64_t size = 0;
    for (Ticks at = now; at != now + 9000; at += 300) {
        size = begin_batch(record, terms_at(at));
        const Ticks answered = at + 300;  // 300 of a life of 500; nothing is left of the batch
        (void)keep_batch(record, terms_at(answered), {size, end_of(at, 500), size});
        end_batch(record, at, terms_at(answered));
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
        end_batch(record, at, terms_at(at));
        (void)keep_batch(record, terms_at(at), {size, end_of(at, 500), 1});
        (void)spend(record, terms_at(at), 3);
        (void)take_dying(record, terms_at(at + 500), false);
    }
    EXPECT_LE(size, 6);
    EXPECT_GE(size, 1);
}

}  // namespace
}  // namespace rate_limit::bucket_tokens_test
