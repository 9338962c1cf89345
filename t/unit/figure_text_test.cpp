#include "core/text/figure_text.h"

#include <limits>

#include <gtest/gtest.h>

namespace rate_limit::figure_text_test {
namespace {

TEST(FigureText, GroupsDigits) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1000), "1,000");
    EXPECT_EQ(grouped(123456), "123,456");
    EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(FigureText, TellsShares) {
    EXPECT_EQ(share(0, 0), "–");
    EXPECT_EQ(share(0, 5), "0%");
    EXPECT_EQ(share(5, 5), "100%");
    EXPECT_EQ(share(1, 1'000'000), "0.1%");
    EXPECT_EQ(share(1, 40), "2.5%");
    EXPECT_EQ(share(1, 8), "12%");
    EXPECT_EQ(share(999'999, 1'000'000), "99.9%");
    EXPECT_EQ(share(6, 5), "120%");
}

TEST(FigureText, TellsDurations) {
    EXPECT_EQ(duration(-5), "0 s");
    EXPECT_EQ(duration(999), "0 s");
    EXPECT_EQ(duration(89'999), "89 s");
    EXPECT_EQ(duration(90'000), "1 min");
    EXPECT_EQ(duration(Millis{89} * 60'000), "89 min");
    EXPECT_EQ(duration(Millis{90} * 60'000), "1 h");
    EXPECT_EQ(duration(Millis{36} * 3'600'000), "1 d");
    EXPECT_EQ(duration(Millis{400} * 86'400'000), "400 d");
}

TEST(FigureText, TellsTimes) {
    EXPECT_EQ(utc(0), "1970-01-01 00:00:00 UTC");
    EXPECT_EQ(iso_time(1'790'000'000'999), "2026-09-21T14:13:20Z");
}

TEST(FigureText, CountsNouns) {
    EXPECT_EQ(counted(1, "node"), "1 node");
    EXPECT_EQ(counted(0, "node"), "0 nodes");
    EXPECT_EQ(counted(1200, "node"), "1,200 nodes");
}

}  // namespace
}  // namespace rate_limit::figure_text_test
