#include "core/limit/rate.h"

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
        EXPECT_EQ(parse_rate(valid.text, false, rate), RateError::none) << valid.text;
        EXPECT_EQ(rate.limit, valid.limit) << valid.text;
        EXPECT_EQ(rate.period, valid.period) << valid.text;
        EXPECT_FALSE(rate.month) << valid.text;
    }
}

TEST(Rate, MonthsAreOfTheCalendar) {
    Rate rate;
    EXPECT_EQ(parse_rate("100000r/month", true, rate), RateError::none);
    EXPECT_EQ(rate.limit, 100'000);
    EXPECT_EQ(rate.period, longest_month);
    EXPECT_TRUE(rate.month);
    EXPECT_FALSE(same_period(rate, {100'000, longest_month, false}));

    Rate other{7, 8, false};
    EXPECT_EQ(parse_rate("5r/month", false, other), RateError::month_without_clock);
    EXPECT_EQ(parse_rate("1000000000001r/month", true, other), RateError::limit_range);
    for (const char* text : {"5r/1month", "5r/months", "5r/Month", "5r/mon", "5r/month "}) {
        EXPECT_EQ(parse_rate(text, true, other), RateError::syntax) << text;
    }
    EXPECT_EQ(other.limit, 7);
    EXPECT_EQ(other.period, 8);
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
            Rate rate{7, 8, false};
            EXPECT_EQ(parse_rate(text, true, rate), error) << text;
            EXPECT_EQ(rate.limit, 7) << text;
            EXPECT_EQ(rate.period, 8) << text;
        }
    }
}

TEST(Rate, EveryErrorHasItsSentence) {
    EXPECT_STRNE(describe(RateError::syntax), describe(RateError::limit_range));
    EXPECT_STRNE(describe(RateError::limit_range), describe(RateError::period_range));
    EXPECT_STRNE(describe(RateError::period_range), "");
    EXPECT_STRNE(describe(RateError::month_without_clock), "");
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
