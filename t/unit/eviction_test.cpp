#include "core/machine/records.h"

#include <iterator>

#include <gtest/gtest.h>

namespace rate_limit::eviction_test {
namespace {

constexpr Millis now = 1'700'000'000'000;

WindowRecord record(Truth truth, std::int64_t used, std::int64_t limit, std::uint64_t tokens = 0) {
    WindowRecord made;
    made.truth = truth;
    made.used = used;
    made.limit = limit;
    made.leased = tokens;
    made.reset = now + 1;
    return made;
}

bool may_go(const WindowRecord& any) {
    return eviction_rank(any, now).tier < EvictionTier::never;
}

TEST(Eviction, EndedWindowsThenCopiesThenTokensThenLocalWindowsAndTheLeastUsedFirst) {
    WindowRecord ended = record(Truth::local, 9, 9);
    ended.reset = now;
    const WindowRecord first_to_last[] = {
        ended,
        record(Truth::redis, 1, 10),
        record(Truth::redis, 8, 9),
        record(Truth::redis, 10, 10),
        record(Truth::redis, 0, 0),
        record(Truth::redis, 9, 10, 1),
        record(Truth::redis, 9, 10, 2),
        record(Truth::local, 1, 10),
        record(Truth::local, 50, 100),
        record(Truth::local, 6, 10),
    };
    for (std::size_t a = 0; a < std::size(first_to_last); ++a) {
        for (std::size_t b = 0; b < std::size(first_to_last); ++b) {
            const bool before = eviction_rank(first_to_last[a], now) < eviction_rank(first_to_last[b], now);
            EXPECT_EQ(before, a < b) << a << ' ' << b;
        }
    }
}

TEST(Eviction, NeverALocalWindowAtItsLimit) {
    EXPECT_TRUE(may_go(record(Truth::local, 9, 10)));
    EXPECT_FALSE(may_go(record(Truth::local, 10, 10)));
    EXPECT_FALSE(may_go(record(Truth::local, 11, 10)));
    EXPECT_FALSE(may_go(record(Truth::local, 0, 0)));
    EXPECT_TRUE(may_go(record(Truth::redis, 11, 10)));
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
}  // namespace rate_limit::eviction_test
