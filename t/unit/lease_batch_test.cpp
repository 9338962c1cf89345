#include "core/machine/tokens.h"

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

TEST(Batch, BeginsWithAThousandthOfTheLimit) {
    for (const auto& [limit, first] : {std::pair<std::int64_t, std::int64_t>{0, 1},
                                       {1, 1},
                                       {1000, 1},
                                       {1001, 2},
                                       {100'000, 100},
                                       {max_limit, 1'000'000'000}}) {
        WindowRecord record = with_id();
        EXPECT_EQ(begin_fetch(record, hourly(limit)), first) << limit;
        EXPECT_EQ(record.pace, start_pace);
    }
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
    WindowRecord record = with_tokens(100'000, 0, 100'000);
    EXPECT_EQ(batch_size(record, hourly(100'000)), 1);
    EXPECT_EQ(batch_size(record, hourly(100'000, reset)), 100);
}

TEST(Batch, GrowsByHalfWhileUsedUpQuickly) {
    WindowRecord record = with_tokens(100'000, 0, 100);
    Millis at = now;
    for (const std::int64_t size : {150, 225, 338, 507, 760, 1140, 1709}) {
        at += interval - 1;
        EXPECT_EQ(begin_fetch(record, hourly(100'000, at)), size);
        grant_at(record, 100'000, 0, at);
    }
}

TEST(Batch, DoesNotGrowIfItLastsAnInterval) {
    WindowRecord record = with_tokens(100'000, 0, 100);
    EXPECT_EQ(begin_fetch(record, hourly(100'000, now + interval)), 100);
    EXPECT_EQ(begin_fetch(record, hourly(100'000, now + interval - 1)), 150);
}

TEST(Batch, DoesNotGrowBeforeThePrimaryNamedTheWindow) {
    WindowRecord record = with_id();
    EXPECT_TRUE(enter(record, hourly(100'000)));
    record.asked = static_cast<std::uint32_t>(now);
    EXPECT_EQ(begin_fetch(record, hourly(100'000)), 100);
    EXPECT_EQ(record.pace, start_pace);
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
    WindowRecord record = with_tokens(100'000, 0, 100);
    begin_fetch(record, hourly(100'000));
    EXPECT_EQ(record.pace, start_pace + 1);
    learn(record, hourly(100'000, reset), {1, reset + period * 1000});
    EXPECT_EQ(record.pace, start_pace + 1);
    EXPECT_EQ(batch_size(record, hourly(100'000, reset)), 150);
}

TEST(FetchAhead, WhenLessThanAnEighthOfABatchIsLeft) {
    WindowRecord record = with_tokens(100'000, 13, 100);
    for (const bool ahead : {false, false, true}) {
        EXPECT_EQ(may_fetch_ahead(record, hourly(100'000), 0), ahead) << at_hand(record);
        EXPECT_TRUE(consume(record, hourly(100'000), 1));
    }
}

TEST(FetchAhead, FetchesABatchLessWhatIsLeft) {
    WindowRecord record = with_tokens(100'000, 11, 100);
    EXPECT_EQ(begin_fetch(record, hourly(100'000, now + interval)), 89);
    record.leased = 12;
    EXPECT_EQ(begin_fetch(record, hourly(100'000, now + interval)), 100)
        << "a request needs more than is left";
    record.leased = 11;
    record.reset = now;
    EXPECT_EQ(begin_fetch(record, hourly(100'000)), 100) << "the tokens at hand are those of another window";
}

TEST(FetchAhead, NotIfNothingIsLeftToFetch) {
    WindowRecord record = with_tokens(100'000, 1, 99'999);
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
    WindowRecord record = with_tokens(100'000, 1, 100);
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
            WindowRecord record = with_tokens(100'000, 100, 200);
            const std::int64_t tokens = take_surplus(record, look_after(time, before));
            EXPECT_EQ(tokens + at_hand(record), 100) << time << ' ' << before;
            EXPECT_TRUE(tokens == 0 || tokens == 100) << time << ' ' << before;
            EXPECT_EQ(record.pace, start_pace) << time << ' ' << before;
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
        {"idle: to less than half", 60, whole, look_after(interval, 60), 60, 2, 45},
        {"slow: to what is spent in that time", 95, whole, look_after(interval, 100), 80, 5, 14},
        {"half: to less than half in any case", 100, whole, look_after(interval, 116), 52, 2, 45},
        {"used", 100, whole, look_after(interval, 130), 0, 0, 100},
        {"fast before the end", 100, interval + 1000, look_after(interval, 200), 80, 0, 100},
        {"a short look says little", 100, whole, look_after(interval / 4, 100), 100, 0, 100},
        {"fixed", 60, whole, look_after(interval, 60, true), 60, 0, 100},
    };
    for (const Case& one : cases) {
        WindowRecord record = with_tokens(100'000, one.tokens, 100);
        record.reset = now + one.ends_in;
        EXPECT_EQ(take_surplus(record, one.look), one.taken) << one.name;
        EXPECT_EQ(record.pace, start_pace - one.steps) << one.name;
        EXPECT_EQ(batch_size(record, hourly(100'000)), one.batch) << one.name;
    }
}

TEST(TakeSurplus, ABatchOfOneIsSmallEnough) {
    WindowRecord record = with_tokens(5000, 5, 5);
    for (int i = 0; i < 20; ++i) {
        record.leased = 1;
        EXPECT_EQ(take_surplus(record, look_after(interval, 1)), 1);
    }
    EXPECT_EQ(batch_size(record, hourly(5000)), 1);
    begin_fetch(record, hourly(5000));
    EXPECT_EQ(batch_size(record, hourly(5000)), 2) << "one step of growth is enough";
    WindowRecord least = with_tokens(max_limit, 100, 100);
    least.pace = 0;
    EXPECT_EQ(take_surplus(least, look_after(interval, 100)), 100);
    EXPECT_EQ(least.pace, 0U);
}

}  // namespace
}  // namespace rate_limit::lease_batch_test
