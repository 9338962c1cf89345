#include "core/machine/windows/tokens.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "window_terms.h"

namespace rate_limit::lease_batch_test {
namespace {

constexpr std::int64_t period = 3600;
constexpr Millis interval = 5000;
constexpr Millis reset = now + period * 1000;

Terms hourly(std::int64_t limit, Millis at = now) {
    return {{limit, period}, Truth::redis, at + period * 1000, at};
}

WindowRecord with_tokens(std::int64_t limit, std::int64_t tokens, std::int64_t used, Millis at = now) {
    WindowRecord record = with_id();
    EXPECT_TRUE(grant(record, hourly(limit, at), {used, reset}, tokens, question(0)));
    return record;
}

void grant_at(WindowRecord& record, std::int64_t limit, std::int64_t tokens, Millis at) {
    EXPECT_TRUE(
        grant(record, hourly(limit, at), {record.used + tokens, reset}, tokens, question(record.events)));
}

Look look_after(Millis time, std::int64_t before, bool fixed = false) {
    return {before, now, now + time, period, fixed};
}

TEST(LeaseInterval, ATwentiethOfThePeriodAndFiveSecondsAtMost) {
    EXPECT_EQ(lease_interval(1), 50);
    EXPECT_EQ(lease_interval(60), 3000);
    EXPECT_EQ(lease_interval(100), 5000);
    EXPECT_EQ(lease_interval(max_period), 5000);
}

/// The pace of batches of 150 tokens, of a limit of 100,000.
constexpr std::uint32_t pace_of_150 = start_pace + 1;

WindowRecord with_batches_of_150(std::int64_t tokens, std::int64_t used, Millis at = now) {
    WindowRecord record = with_tokens(100'000, tokens, used, at);
    record.pace = pace_of_150;
    return record;
}

std::int64_t fetched_at(WindowRecord record, Millis at, std::int64_t limit = 100'000) {
    return begin_fetch(record, hourly(limit, at));
}

TEST(Batch, BeginsWithOneToken) {
    for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1001}, max_limit}) {
        WindowRecord record = with_id();
        EXPECT_EQ(begin_fetch(record, hourly(limit)), 1) << limit;
        EXPECT_EQ(record.pace, 0U);
    }
}

TEST(Batch, FollowsTheSecondRequestCloseByOrTheThird) {
    struct Case {
        Millis pause;
        std::vector<std::int64_t> sizes;
    };
    for (const Case& of : {Case{1, {1, 100, 225}}, Case{interval / 8 - 1, {1, 30, 67, 150}},
                           Case{interval - 1, {1, 1, 4, 9}}, Case{interval, {1, 1, 1, 1}}}) {
        WindowRecord record = with_id();
        Millis at = now;
        for (const std::int64_t size : of.sizes) {
            EXPECT_EQ(begin_fetch(record, hourly(100'000, at)), size) << of.pause;
            record.reset = reset;
            record.confirmed = true;
            at += of.pause;
        }
    }
}

TEST(Batch, BeginsWithFourWhereTheLimitIsSmall) {
    WindowRecord record = with_tokens(100, 0, 1);
    EXPECT_EQ(begin_fetch(record, hourly(100)), 4);
}

TEST(Batch, OfAColdKeyIsOneTokenAgain) {
    EXPECT_EQ(fetched_at(with_batches_of_150(0, 100), now + 29'999), 150);
    EXPECT_EQ(fetched_at(with_batches_of_150(0, 100), now + 30'000), 1);
    const WindowRecord ended = with_batches_of_150(0, 100, reset - 1000);
    EXPECT_EQ(fetched_at(ended, reset), 150) << "of another window: the key is the same";
}

TEST(Batch, GoesOnFromOneOnItsWayWhereNoWindowIsOpen) {
    WindowRecord record = with_id();
    const std::uint32_t second = next_pace(0, 0, {100'000, period});
    EXPECT_EQ(begin_fetch(record, hourly(100'000), second), 100);
    record = with_id();
    EXPECT_EQ(begin_fetch(record, hourly(100'000), next_pace(second, 0, {100'000, period})), 225);
    EXPECT_EQ(next_pace(max_pace, 0, {100'000, period}), max_pace);
}

TEST(ReserveAlone, WhereABatchIsNoMoreThanTheCost) {
    WindowRecord record = with_tokens(100'000, 0, 100);
    EXPECT_TRUE(reserve_alone(record, hourly(100'000, now + interval), 1));
    EXPECT_FALSE(record.fetching);
    EXPECT_EQ(record.asked_or_told, static_cast<std::uint32_t>(now + interval));
    const WindowRecord before = record;
    EXPECT_FALSE(reserve_alone(record, hourly(100'000, now + interval + 1), 99)) << "close by";
    EXPECT_EQ(record, before);
    EXPECT_TRUE(reserve_alone(record, hourly(100'000, now + interval + 1), 100));
    EXPECT_FALSE(reserve_alone(record, hourly(100'000, reset), 1)) << "no window is open";
    WindowRecord none = with_id();
    EXPECT_FALSE(reserve_alone(none, hourly(100'000), 1));
}

TEST(Batch, NeverMoreThanATwentiethOfTheLimitNorAQuarterOfWhatIsLeft) {
    const std::vector<std::int64_t> limits{
        0,        1, 2, 3, 10, 19, 20, 21, 39, 40, 99, 100, 1000, 4999, 100'000, 1'234'567, 10'000'000'000,
        max_limit};
    for (const std::int64_t limit : limits) {
        for (std::int64_t part = 0; part <= 24; ++part) {
            const std::int64_t used =
                part < 20 ? limit / 20 * part : limit - (24 - part) + (part == 24 ? 1 : 0);
            for (std::uint32_t pace = 0; pace <= max_pace; ++pace) {
                for (const Millis before_end : {Millis{1}, Millis{100}, interval, period * 1000}) {
                    WindowRecord record =
                        with_tokens(limit, 0, std::max<std::int64_t>(0, used), reset - before_end);
                    record.pace = pace;
                    const std::int64_t bound = std::max<std::int64_t>(
                        1, std::min(limit / 20, std::max<std::int64_t>(0, limit - record.used) / 4));
                    const std::int64_t size = batch_size(record, hourly(limit, reset - before_end));
                    ASSERT_GE(size, 1) << limit << ' ' << used << ' ' << pace;
                    ASSERT_LE(size, bound) << limit << ' ' << used << ' ' << pace;
                    const std::int64_t taken = begin_fetch(record, hourly(limit, reset - before_end));
                    ASSERT_GE(taken, 1) << limit << ' ' << used << ' ' << pace;
                    ASSERT_LE(taken, bound) << limit << ' ' << used << ' ' << pace;
                }
            }
        }
    }
}

TEST(Batch, IsNotBoundByWhatWasUsedInTheLastWindow) {
    const WindowRecord record = with_batches_of_150(0, 100'000);
    EXPECT_EQ(batch_size(record, hourly(100'000)), 1);
    EXPECT_EQ(batch_size(record, hourly(100'000, reset)), 150);
}

TEST(Batch, MoreThanDoublesWhileUsedUpQuickly) {
    WindowRecord record = with_batches_of_150(0, 100);
    Millis at = now;
    for (const std::int64_t size : {338, 760, 1709, 3845, 5000}) {
        at += interval - 1;
        EXPECT_EQ(begin_fetch(record, hourly(100'000, at)), size);
        grant_at(record, 100'000, 0, at);
    }
}

TEST(Batch, DoesNotGrowIfItLastsAnInterval) {
    EXPECT_EQ(fetched_at(with_batches_of_150(0, 100), now + interval), 150);
    EXPECT_EQ(fetched_at(with_batches_of_150(0, 100), now + interval - 1), 338);
}

TEST(Batch, DoesNotGrowBeforeThePrimaryNamedTheWindow) {
    WindowRecord record = with_id();
    EXPECT_TRUE(enter(record, hourly(100'000)));
    record.asked_or_told = static_cast<std::uint32_t>(now);
    EXPECT_EQ(begin_fetch(record, hourly(100'000)), 1);
    EXPECT_EQ(record.pace, 0U);
}

TEST(Batch, DoesNotGrowWhereItIsCut) {
    const Millis late = reset - interval / 2;
    struct Case {
        const char* by;
        std::int64_t limit, used;
        std::uint32_t pace;
        Millis at;
        std::int64_t size;
    };
    for (const Case& cut :
         {Case{"the limit", 1000, 10, 26, now, 50}, Case{"the rest", 100'000, 99'700, start_pace, now, 75},
          Case{"the window's end", 100'000, 100, start_pace, late, 50},
          Case{"all", max_limit, 100, max_pace, now, max_limit / 20}}) {
        WindowRecord record = with_tokens(cut.limit, 0, cut.used, cut.at);
        record.pace = cut.pace;
        EXPECT_EQ(begin_fetch(record, hourly(cut.limit, cut.at)), cut.size) << cut.by;
        EXPECT_EQ(record.pace, cut.pace) << cut.by;
    }
}

TEST(Batch, PaceOutlivesTheWindow) {
    WindowRecord record = with_batches_of_150(0, 100);
    learn(record, hourly(100'000, reset), {1, reset + period * 1000});
    EXPECT_EQ(record.pace, pace_of_150);
    EXPECT_EQ(batch_size(record, hourly(100'000, reset)), 150);
}

TEST(FetchAhead, WhenLessThanAnEighthOfABatchIsLeft) {
    WindowRecord record = with_batches_of_150(19, 100);
    for (const bool ahead : {false, false, true}) {
        EXPECT_EQ(may_fetch_ahead(record, hourly(100'000), 0), ahead) << at_hand(record);
        EXPECT_TRUE(consume(record, hourly(100'000), 1));
    }
}

TEST(FetchAhead, FetchesABatchLessWhatIsLeft) {
    WindowRecord record = with_batches_of_150(17, 100);
    EXPECT_EQ(fetched_at(record, now + interval), 133);
    record.leased = 18;
    EXPECT_EQ(fetched_at(record, now + interval), 150) << "a request needs more than is left";
    record.leased = 17;
    record.reset = now;
    EXPECT_EQ(fetched_at(record, now), 150) << "the tokens at hand are those of another window";
}

TEST(FetchAhead, NotIfNothingIsLeftToFetch) {
    WindowRecord record = with_batches_of_150(1, 99'999);
    record.used = 99'968;
    EXPECT_FALSE(may_fetch_ahead(record, hourly(100'000), 0)) << "a batch of eight is not low with one";
    record.leased = 0;
    EXPECT_TRUE(may_fetch_ahead(record, hourly(100'000), 0));
    record.used = 100'000;
    EXPECT_FALSE(may_fetch_ahead(record, hourly(100'000), 0));
    WindowRecord tiny = with_tokens(100, 0, 1);
    EXPECT_FALSE(may_fetch_ahead(tiny, hourly(100), 0))
        << "a batch of one is fetched by the request that needs it";
}

TEST(FetchAhead, NotBesideAFetchOnItsWay) {
    const auto low = [](const WindowRecord& record) { return may_fetch_ahead(record, hourly(100'000), 0); };
    WindowRecord record = with_batches_of_150(1, 100);
    begin_fetch(record, hourly(100'000));
    EXPECT_FALSE(low(record));
    end_fetch(record);
    EXPECT_TRUE(low(record));

    begin_fetch(record, hourly(100'000));
    grant_at(record, 100'000, 0, now);
    EXPECT_TRUE(low(record)) << "an answer that grants nothing ends the fetch, too";

    begin_fetch(record, hourly(100'000));
    EXPECT_FALSE(grant(record, hourly(100'000), {100, reset - 1}, 100, {0, 0, 6000}));
    EXPECT_TRUE(low(record)) << "so does an answer about another window";
}

TEST(FetchAhead, TheFlagEndsWithItsWindow) {
    WindowRecord record = with_tokens(100'000, 1, 100);
    begin_fetch(record, hourly(100'000));
    EXPECT_TRUE(record.fetching);
    learn(record, hourly(100'000, reset), {1, reset + 1000});
    EXPECT_FALSE(record.fetching);
    WindowRecord none = with_id();
    begin_fetch(none, hourly(100'000));
    EXPECT_FALSE(none.fetching) << "there is no window whose end would clear it";
}

TEST(Surplus, IsWhatTheWindowDoesNotNeedInThreeIntervals) {
    struct Case {
        std::int64_t tokens;
        Millis since;
        std::int64_t before, expected;
        const char* why;
    };
    const Case cases[] = {
        {60, interval, 60, 60, "idle"},
        {60, interval, 50, 60, "requests gave back more than others spent"},
        {0, interval, 0, 0, "no token at hand"},
        {100, interval, 134, 0, "34 tokens an interval, for three of them"},
        {100, interval, 5000, 0, "busy"},
        {100, interval, 101, 97, "one token an interval"},
        {100, interval * 2, 101, 98, "one and a half, rounded up"},
        {100, interval, 116, 52, "16 tokens an interval"},
        {102, interval, 119, 51, "half of them"},
        {102, interval, 120, 0, "less than half is not worth a call"},
    };
    for (const Case& one : cases) {
        const WindowRecord record = with_tokens(100'000, one.tokens, 200);
        EXPECT_EQ(surplus(record, look_after(one.since, one.before)), one.expected) << one.why;
    }
}

TEST(Surplus, IsNothingAMomentAfterAGrant) {
    WindowRecord record = with_tokens(100'000, 0, 100);
    grant_at(record, 100'000, 60, now + interval - 100);
    EXPECT_EQ(surplus(record, look_after(interval, 60)), 0);
    EXPECT_EQ(surplus(record, look_after(interval, 61)), 57)
        << "but one token was spent, so the speed is known";
    WindowRecord rested = with_tokens(100'000, 0, 100);
    grant_at(rested, 100'000, 60, now + interval / 2);
    EXPECT_EQ(surplus(rested, look_after(interval, 60)), 60);
    grant_at(rested, 100'000, 60, now + interval * 9);
    EXPECT_EQ(surplus(rested, look_after(interval * 10, 120)), 120) << "nobody looked for a long time";
}

TEST(Surplus, OfAFewTokensIsNothingForThreeIntervalsAfterTheirGrant) {
    const WindowRecord record = with_tokens(100'000, 7, 100);
    EXPECT_EQ(surplus(record, look_after(3 * interval - 1, 7)), 0) << "the next requests will want them";
    EXPECT_EQ(surplus(record, look_after(3 * interval, 7)), 7);
    EXPECT_EQ(surplus(record, look_after(3 * interval - 1, 7, true)), 7) << "of a fixed batch";
    EXPECT_EQ(surplus(with_tokens(100'000, 8, 100), look_after(interval, 8)), 8);
}

TEST(Surplus, AskingInVainDoesNotKeepTokens) {
    WindowRecord record = with_tokens(100'000, 0, 100);
    grant_at(record, 100'000, 60, now + interval / 2);
    grant_at(record, 100'000, 0, now + interval - 100);
    EXPECT_EQ(surplus(record, look_after(interval, 60)), 60);
}

TEST(Surplus, IsWhatWillNotBeSpentBeforeTheWindowEnds) {
    WindowRecord record = with_tokens(100'000, 100, 200);
    record.reset = now + interval + 1000;
    EXPECT_EQ(surplus(record, look_after(interval, 200)), 80)
        << "twenty tokens a second, and one second is left";
    EXPECT_EQ(surplus(record, look_after(interval, 1000)), 0);
    EXPECT_EQ(surplus(record, look_after(interval, 200, true)), 80);
}

TEST(Surplus, WithFixedBatchesIsOnlyWhatTheWindowDoesNotNeed) {
    WindowRecord record = with_tokens(100'000, 700, 800);
    EXPECT_EQ(surplus(record, look_after(interval, 701, true)), 0) << "719 tokens are needed until the end";
    EXPECT_EQ(surplus(record, look_after(interval, 700, true)), 700) << "idle";
}

TEST(Surplus, AClockThatStandsOrGoesBackIsNoSpeed) {
    for (const Millis time : {Millis{0}, Millis{-1}, -interval, -interval * 1000}) {
        for (const std::int64_t before : {std::int64_t{0}, std::int64_t{100}, std::int64_t{101}, max_limit}) {
            WindowRecord record = with_batches_of_150(100, 200);
            const std::int64_t tokens = take_surplus(record, look_after(time, before));
            EXPECT_EQ(tokens + at_hand(record), 100) << time << ' ' << before;
            EXPECT_TRUE(tokens == 0 || tokens == 100) << time << ' ' << before;
            EXPECT_EQ(record.pace, pace_of_150) << time << ' ' << before;
        }
    }
    WindowRecord ended = with_tokens(100'000, 100, 200);
    ended.reset = now;
    EXPECT_EQ(surplus(ended, look_after(interval, 200)), 100);
}

TEST(TakeSurplus, TakesWhatIsSurplus) {
    WindowRecord record = with_tokens(100'000, 100, 200);
    EXPECT_EQ(take_surplus(record, look_after(interval, 101)), 97);
    EXPECT_EQ(at_hand(record), 3);
    EXPECT_EQ(record.used, 200) << "it changes when the primary answers the refund";
    EXPECT_EQ(take_surplus(record, look_after(interval, 103)), 0);
    EXPECT_EQ(at_hand(record), 3);
}

TEST(TakeSurplus, BatchesShrinkUntilTheyLastThreeIntervals) {
    constexpr Millis whole = period * 1000;
    struct Case {
        const char* name;
        std::int64_t tokens;
        Millis ends_in;
        Look look;
        std::int64_t taken;
        std::uint32_t steps;
        std::int64_t batch;
    };
    const Case cases[] = {
        {"idle: to less than half", 60, whole, look_after(interval, 60), 60, 2, 67},
        {"slow: to what is spent in that time", 95, whole, look_after(interval, 100), 80, 6, 14},
        {"half: to less than half in any case", 100, whole, look_after(interval, 116), 52, 3, 45},
        {"used", 100, whole, look_after(interval, 130), 0, 0, 150},
        {"fast before the end", 100, interval + 1000, look_after(interval, 200), 80, 0, 150},
        {"a short look says little", 100, whole, look_after(interval / 4, 100), 100, 0, 150},
        {"fixed", 60, whole, look_after(interval, 60, true), 60, 0, 150},
    };
    for (const Case& one : cases) {
        WindowRecord record = with_batches_of_150(one.tokens, 100);
        record.reset = now + one.ends_in;
        EXPECT_EQ(take_surplus(record, one.look), one.taken) << one.name;
        EXPECT_EQ(record.pace, pace_of_150 - one.steps) << one.name;
        EXPECT_EQ(batch_size(record, hourly(100'000)), one.batch) << one.name;
    }
}

TEST(TakeSurplus, ABatchOfOneIsSmallEnough) {
    WindowRecord record = with_tokens(5000, 5, 5);
    for (int i = 0; i < 20; ++i) {
        record.leased = 1;
        EXPECT_EQ(take_surplus(record, look_after(3 * interval, 1)), 1);
    }
    EXPECT_EQ(batch_size(record, hourly(5000)), 1);
    EXPECT_EQ(record.pace, 0U);
    begin_fetch(record, hourly(5000));
    EXPECT_EQ(batch_size(record, hourly(5000)), 5) << "asked for again at once";
    WindowRecord least = with_tokens(max_limit, 100, 100);
    least.pace = 0;
    EXPECT_EQ(take_surplus(least, look_after(interval, 100)), 100);
    EXPECT_EQ(least.pace, 0U);
}

}  // namespace
}  // namespace rate_limit::lease_batch_test
