#include "core/limit/rate.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace rate_limit::rate_test {
namespace {

struct Valid {
    const char* text;
    std::int64_t limit;
    std::int64_t period;
};

TEST(Rate, ReadsValidRates) {
    const Valid rates[] = {
        {"10r/s", 10, 1},
        {"60r/m", 60, 60},
        {"5000r/h", 5000, 3600},
        {"1000000r/d", 1000000, 86400},
        {"100r/10s", 100, 10},
        {"0r/s", 0, 1},
        {"007r/02m", 7, 120},
        {"1000000000000r/366d", max_limit, max_period},
        {"1r/31622400s", 1, max_period},
    };
    for (const Valid& valid : rates) {
        Rate rate;
        EXPECT_EQ(parse_rate(valid.text, WindowKind::first, rate), RateError::none) << valid.text;
        EXPECT_EQ(rate.limit, valid.limit) << valid.text;
        EXPECT_EQ(rate.period, valid.period) << valid.text;
        EXPECT_EQ(rate.calendar, Calendar::none) << valid.text;
    }
}

TEST(Rate, WeeksAndMonthsAreOfTheCalendar) {
    for (const Calendar unit : {Calendar::week, Calendar::month}) {
        const std::string text = "100000r/" + std::string(to_string(unit));
        for (const WindowKind windows : {WindowKind::clock, WindowKind::local_day}) {
            Rate rate;
            EXPECT_EQ(parse_rate(text, windows, rate), RateError::none);
            EXPECT_EQ(rate.limit, 100'000);
            EXPECT_EQ(rate.period, longest(unit));
            EXPECT_EQ(rate.calendar, unit);
            EXPECT_FALSE(same_period(rate, {100'000, longest(unit)}));
        }
        Rate other{7, 8};
        EXPECT_EQ(parse_rate(text, WindowKind::first, other), RateError::calendar_without_clock);
        EXPECT_EQ(parse_rate(text, WindowKind::bucket, other), RateError::calendar_of_bucket);
        EXPECT_EQ(parse_rate("1" + text, WindowKind::clock, other), RateError::none);
        EXPECT_EQ(parse_rate("90000000" + text, WindowKind::clock, other), RateError::limit_range);
    }
    Rate other{7, 8};
    for (const char* text : {"5r/1month", "5r/months", "5r/Month", "5r/mon", "5r/month ", "5r/2week",
                             "5r/weeks", "5r/w", "5r/day"}) {
        EXPECT_EQ(parse_rate(text, WindowKind::clock, other), RateError::syntax) << text;
        EXPECT_EQ(parse_rate(text, WindowKind::local_day, other), RateError::syntax) << text;
    }
    EXPECT_EQ(other.limit, 7);
}

TEST(Rate, WindowsOfTheLocalTimeHaveThePeriodsOfACalendar) {
    for (const char* text : {"10r/d", "10r/1d"}) {
        Rate rate;
        EXPECT_EQ(parse_rate(text, WindowKind::local_day, rate), RateError::none);
        EXPECT_EQ(rate.period, longest(Calendar::day));
        EXPECT_EQ(rate.calendar, Calendar::day);
        EXPECT_EQ(parse_rate(text, WindowKind::clock, rate), RateError::none);
        EXPECT_EQ(rate.calendar, Calendar::none);
    }
    for (const char* text : {"10r/h", "10r/24h", "10r/2d", "10r/7d", "10r/s"}) {
        Rate rate;
        EXPECT_EQ(parse_rate(text, WindowKind::local_day, rate), RateError::not_local) << text;
    }
}

TEST(Rate, KindsOfWindowsFollowFromThePeriod) {
    using K = WindowKind;
    EXPECT_EQ(kind_in(Calendar::none, K::clock), K::clock);
    EXPECT_EQ(kind_in(Calendar::week, K::clock), K::week);
    EXPECT_EQ(kind_in(Calendar::month, K::clock), K::month);
    EXPECT_EQ(kind_in(Calendar::day, K::local_day), K::local_day);
    EXPECT_EQ(kind_in(Calendar::week, K::local_day), K::local_week);
    EXPECT_EQ(kind_in(Calendar::month, K::local_day), K::local_month);
    EXPECT_EQ(kind_in(Calendar::month, K::first), K::first);
    for (const K kind : {K::clock, K::week, K::month, K::local_day, K::local_week, K::local_month}) {
        EXPECT_TRUE(is_by_clock(kind));
    }
    for (const K kind : {K::first, K::bucket, K::slots}) {
        EXPECT_FALSE(is_by_clock(kind));
    }
}

TEST(Rate, RefusesOtherTextAndLeavesTheRateAlone) {
    const std::pair<RateError, std::vector<const char*>> errors[] = {
        {RateError::syntax, {"",       "10",    "10r",    "10r/",   "r/s",
                             "10r/10", "10/s",  "-1r/s",  "+1r/s",  " 1r/s",
                             "1r/s ",  "1 r/s", "1.5r/s", "1r/-1s", "1r/1.5s",
                             "1r/w",   "1r/ss", "1R/s",   "1r/S",   "99999999999999999999999r/x"}},
        {RateError::limit_range, {"1000000000001r/s", "99999999999999999999999r/s"}},
        {RateError::period_range,
         {"1r/0s", "1r/367d", "1r/31622401s", "1r/9223372036854775807d", "1r/99999999999999999999999s"}},
    };
    for (const auto& [error, texts] : errors) {
        for (const char* text : texts) {
            Rate rate{7, 8};
            EXPECT_EQ(parse_rate(text, WindowKind::clock, rate), error) << text;
            EXPECT_EQ(rate.limit, 7) << text;
            EXPECT_EQ(rate.period, 8) << text;
        }
    }
}

TEST(Rate, EveryErrorHasItsSentence) {
    EXPECT_STRNE(describe(RateError::syntax), describe(RateError::limit_range));
    EXPECT_STRNE(describe(RateError::limit_range), describe(RateError::period_range));
    EXPECT_STRNE(describe(RateError::period_range), "");
    EXPECT_STRNE(describe(RateError::calendar_without_clock), "");
}

TEST(ParseSlots, ReadsANumber) {
    Rate rate;
    EXPECT_EQ(parse_slots("20", rate), RateError::none);
    EXPECT_EQ(rate.limit, 20);
    EXPECT_EQ(rate.period, 1);
    EXPECT_EQ(parse_slots("0", rate), RateError::none);
    EXPECT_EQ(parse_slots("1000000000000", rate), RateError::none);
    for (const char* bad : {"", "-1", "+1", "1 ", "1.5", "20r/s", "1000000000001", "99999999999999999999"}) {
        EXPECT_EQ(parse_slots(bad, rate), RateError::slots) << bad;
    }
    EXPECT_EQ(rate.limit, 1000000000000) << "as it was";
}

}  // namespace
}  // namespace rate_limit::rate_test
