#include "core/text/figure_text.h"

#include <gtest/gtest.h>

namespace rate_limit::time_text_test {
namespace {

TEST(TimeText, TakesUnitsFromYearsToSeconds) {
    EXPECT_EQ(parse_seconds("90"), 90);
    EXPECT_EQ(parse_seconds("0s"), 0);
    EXPECT_EQ(parse_seconds("10m"), 600);
    EXPECT_EQ(parse_seconds("1h 30m"), 5'400);
    EXPECT_EQ(parse_seconds("1h30"), 3'630);
    EXPECT_EQ(parse_seconds("1d  "), 86'400);
    EXPECT_EQ(parse_seconds("1y1M1w1d1h1m1s"), 31'536'000 + 2'592'000 + 604'800 + 86'400 + 3'600 + 60 + 1);
}

TEST(TimeText, RefusesWhatNginxRefuses) {
    for (const char* text :
         {"", " ", "m", "-1", "+1", "1m 1h", "1m1m", "1ms", "1x", "1.5m", " 1m", "10m,", "1 2"}) {
        EXPECT_FALSE(parse_seconds(text)) << text;
    }
}

TEST(TimeText, HoldsNoMoreThanItsNumber) {
    EXPECT_EQ(parse_seconds("9223372036854775807"), 9'223'372'036'854'775'807);
    for (const char* text : {"9223372036854775808", "292471208678y", "1m 9223372036854775807s"}) {
        EXPECT_FALSE(parse_seconds(text)) << text;
    }
}

}  // namespace
}  // namespace rate_limit::time_text_test
