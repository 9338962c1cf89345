#include "core/limit/window.h"
#include "core/limit/rate.h"

#include <ctime>

#include <gtest/gtest.h>

#include "core/limit/rate.h"

namespace rate_limit::window_test {
namespace {

constexpr Millis now = 1'700'000'000'123;

TEST(Window, IsOpenUntilItsReset) {
    EXPECT_TRUE(is_open({0, now + 1}, 60, now));
    EXPECT_FALSE(is_open({0, now}, 60, now));
    EXPECT_FALSE(is_open({0, now - 1}, 60, now));
    EXPECT_FALSE(is_open({5, 0}, 60, now));
}

TEST(Window, ResetTooFarAheadIsNotBelieved) {
    EXPECT_EQ(latest_reset(60, now), now + 60'000 + max_skew);
    EXPECT_TRUE(is_open({0, now + 120'000}, 60, now));
    EXPECT_FALSE(is_open({0, now + 120'001}, 60, now));
}

TEST(Window, FirstKindLastsOnePeriodFromNow) {
    EXPECT_EQ(propose_reset(WindowKind::first, 60, now), now + 60'000);
}

TEST(Window, ClockKindEndsWithTheClocksPeriod) {
    EXPECT_EQ(propose_reset(WindowKind::clock, 60, 120'000), 180'000);
    EXPECT_EQ(propose_reset(WindowKind::clock, 60, 179'999), 180'000);
    EXPECT_EQ(propose_reset(WindowKind::clock, 60, 180'000), 240'000);
    // 2023-11-14 22:13:20 UTC: the day ends at 2023-11-15 00:00:00.
    EXPECT_EQ(propose_reset(WindowKind::clock, 86'400, now), 1'700'006'400'000);
}

/// The first instant of a month of the UTC calendar, as the C library has it.
Millis begin_of(int year, int month) {
    std::tm when{};
    when.tm_year = year - 1900;
    when.tm_mon = month - 1;
    when.tm_mday = 1;
    return Millis{timegm(&when)} * 1000;
}

TEST(Window, WeeksBeginOnMondays) {
    const Millis monday = 1'709'510'400'000;  // 2024-03-04
    const Millis week = 7 * 86'400'000;
    for (const Millis at : {monday, monday + 1, monday + week / 2, monday + week - 1}) {
        EXPECT_EQ(propose_reset(WindowKind::week, longest(Calendar::week), at), monday + week);
    }
    EXPECT_EQ(propose_reset(WindowKind::week, longest(Calendar::week), 0), 4 * 86'400'000)
        << "the first Monday";
}

TEST(Window, MonthsEndWithTheCalendars) {
    for (int year = 1970; year < 2500; ++year) {
        for (int month = 1; month <= 12; ++month) {
            const Millis begin = begin_of(year, month);
            const Millis end = begin_of(year, month + 1);
            for (const Millis at : {begin, begin + 1, (begin + end) / 2, end - 86'400'000, end - 1}) {
                ASSERT_EQ(propose_reset(WindowKind::month, longest(Calendar::month), at), end)
                    << year << ' ' << month;
                ASSERT_TRUE(is_open({0, end}, longest(Calendar::month), at));
            }
        }
    }
}

TEST(Window, SecondsAreRoundedUp) {
    EXPECT_EQ(reset_seconds(5000), 5);
    EXPECT_EQ(reset_seconds(5001), 6);
    EXPECT_EQ(reset_seconds(5999), 6);
    EXPECT_EQ(reset_seconds(0), 0);

    EXPECT_EQ(seconds_until(5000, 4000), 1);
    EXPECT_EQ(seconds_until(5000, 3999), 2);
    EXPECT_EQ(seconds_until(5000, 4999), 1);
    EXPECT_EQ(seconds_until(5000, 5000), 0);
    EXPECT_EQ(seconds_until(5000, 9000), 0);
}

}  // namespace
}  // namespace rate_limit::window_test
