#include "core/machine/window_record.h"

#include <gtest/gtest.h>

namespace rate_limit {
namespace {

constexpr Millis now = 1'700'000'000'000;

WindowRecord record(Truth truth, std::int64_t used, std::int64_t limit, Millis reset = now + 1) {
    WindowRecord made;
    made.truth = truth;
    made.used = used;
    made.limit = limit;
    made.reset = reset;
    return made;
}

bool goes_before(const WindowRecord& a, const WindowRecord& b) {
    return eviction_rank(a, now) < eviction_rank(b, now);
}

bool may_go(const WindowRecord& any) {
    return eviction_rank(any, now).tier < EvictionTier::never;
}

TEST(Eviction, EndedWindowsBeforeCopiesBeforeLocalWindows) {
    const WindowRecord ended = record(Truth::local, 9, 9, now);
    const WindowRecord copy = record(Truth::redis, 8, 9);
    const WindowRecord local = record(Truth::local, 1, 9);
    EXPECT_TRUE(goes_before(ended, copy));
    EXPECT_TRUE(goes_before(copy, local));
    EXPECT_FALSE(goes_before(local, copy));
    EXPECT_FALSE(goes_before(copy, ended));
}

TEST(Eviction, TheLeastUsedGoesFirst) {
    EXPECT_TRUE(goes_before(record(Truth::local, 50, 100), record(Truth::local, 6, 10)));
    EXPECT_FALSE(goes_before(record(Truth::local, 6, 10), record(Truth::local, 50, 100)));
    EXPECT_TRUE(goes_before(record(Truth::redis, 1, 10), record(Truth::redis, 10, 10)));
    EXPECT_TRUE(goes_before(record(Truth::redis, 10, 10), record(Truth::redis, 0, 0)));
}

TEST(Eviction, NeverALocalWindowAtItsLimit) {
    EXPECT_TRUE(may_go(record(Truth::local, 9, 10)));
    EXPECT_FALSE(may_go(record(Truth::local, 10, 10)));
    EXPECT_FALSE(may_go(record(Truth::local, 11, 10)));
    EXPECT_FALSE(may_go(record(Truth::local, 0, 0)));
    EXPECT_TRUE(may_go(record(Truth::redis, 11, 10)));
}

TEST(Eviction, TokensAtHandGoAfterCopiesAndBeforeLocalWindows) {
    WindowRecord few = record(Truth::redis, 9, 10);
    few.leased = 1;
    WindowRecord many = record(Truth::redis, 9, 10);
    many.leased = 2;
    EXPECT_TRUE(goes_before(record(Truth::redis, 10, 10), few));
    EXPECT_TRUE(goes_before(few, many));
    EXPECT_TRUE(goes_before(many, record(Truth::local, 1, 10)));
}

TEST(Eviction, NeverAWindowThatARequestOrAnAnswerStillChanges) {
    for (const Truth truth : {Truth::local, Truth::redis}) {
        WindowRecord in_flight = record(truth, 1, 10);
        in_flight.in_flight = 1;
        WindowRecord unanswered = record(truth, 1, 10);
        unanswered.unanswered = 1;
        for (WindowRecord* held : {&in_flight, &unanswered}) {
            EXPECT_FALSE(may_go(*held));
            held->reset = now;
            EXPECT_TRUE(may_go(*held));
        }
    }
}

}  // namespace
}  // namespace rate_limit
