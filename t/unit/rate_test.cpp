#include "core/limit/rate.h"

#include <gtest/gtest.h>

namespace rate_limit {
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
        EXPECT_EQ(parse_rate(valid.text, rate), RateError::none) << valid.text;
        EXPECT_EQ(rate.limit, valid.limit) << valid.text;
        EXPECT_EQ(rate.period, valid.period) << valid.text;
    }
}

struct Invalid {
    const char* text;
    RateError error;
};

TEST(Rate, RefusesOtherTextAndLeavesTheRateAlone) {
    const Invalid rates[] = {
        {"", RateError::syntax},
        {"10", RateError::syntax},
        {"10r", RateError::syntax},
        {"10r/", RateError::syntax},
        {"r/s", RateError::syntax},
        {"10r/10", RateError::syntax},
        {"10/s", RateError::syntax},
        {"-1r/s", RateError::syntax},
        {"+1r/s", RateError::syntax},
        {" 1r/s", RateError::syntax},
        {"1r/s ", RateError::syntax},
        {"1 r/s", RateError::syntax},
        {"1.5r/s", RateError::syntax},
        {"1r/-1s", RateError::syntax},
        {"1r/1.5s", RateError::syntax},
        {"1r/w", RateError::syntax},
        {"1r/ss", RateError::syntax},
        {"1R/s", RateError::syntax},
        {"1r/S", RateError::syntax},
        {"99999999999999999999999r/x", RateError::syntax},
        {"1000000000001r/s", RateError::limit_range},
        {"99999999999999999999999r/s", RateError::limit_range},
        {"1r/0s", RateError::period_range},
        {"1r/367d", RateError::period_range},
        {"1r/31622401s", RateError::period_range},
        {"1r/9223372036854775807d", RateError::period_range},
        {"1r/99999999999999999999999s", RateError::period_range},
    };
    for (const Invalid& invalid : rates) {
        Rate rate{7, 8};
        EXPECT_EQ(parse_rate(invalid.text, rate), invalid.error) << invalid.text;
        EXPECT_EQ(rate.limit, 7) << invalid.text;
        EXPECT_EQ(rate.period, 8) << invalid.text;
    }
}

TEST(Rate, EveryErrorHasItsSentence) {
    EXPECT_STRNE(describe(RateError::syntax), describe(RateError::limit_range));
    EXPECT_STRNE(describe(RateError::limit_range), describe(RateError::period_range));
    EXPECT_STRNE(describe(RateError::period_range), "");
}

}  // namespace
}  // namespace rate_limit
