#include "core/machine/records/confirmed.h"

#include <gtest/gtest.h>

#include "core/limit/clocks.h"
#include "core/machine/records.h"
#include "window_terms.h"

namespace rate_limit::confirmed_test {
namespace {

constexpr std::int64_t hour = 3600;
constexpr Millis reset = now + 1'800'000;

ConfirmedRecord confirmed(std::int64_t used, Millis at = now) {
    ConfirmedRecord record;
    note_confirmed(record, {used, reset}, at - 1, at);
    return record;
}

/// 0: nothing is known.
std::int64_t known(const ConfirmedRecord& record, Millis first = 0, Millis last = now, Millis at = now) {
    const auto window = confirmed_between(record, first, last, hour, at);
    return window ? window->used : 0;
}

TEST(Confirmed, IsKnownForAMinute) {
    const ConfirmedRecord record = confirmed(3);
    EXPECT_EQ(known(record), 3);
    EXPECT_EQ(confirmed_between(record, 0, now, hour, now)->reset, reset);
    EXPECT_EQ(known(record, 0, now, now + confirmed_kept - 1), 3);
    EXPECT_EQ(known(record, 0, now, now + confirmed_kept), 0);
    EXPECT_EQ(known(ConfirmedRecord{}), 0);
}

TEST(Confirmed, IsKnownWhereItWasInTime) {
    const ConfirmedRecord record = confirmed(3, now - 10);
    EXPECT_EQ(known(record, now - 10, now - 10), 3);
    EXPECT_EQ(known(record, now - 9, now), 0) << "before that";
    EXPECT_EQ(known(record, 0, now - 11), 0) << "after that";
}

TEST(Confirmed, EndsWithItsWindow) {
    ConfirmedRecord record;
    note_confirmed(record, {3, now + 5}, now, now);
    EXPECT_EQ(known(record, 0, now, now + 4), 3);
    EXPECT_EQ(known(record, 0, now, now + 5), 0);
    note_confirmed(record, {3, latest_reset(hour, now) + 1}, now + 1, now + 1);
    EXPECT_EQ(known(record, 0, now + 1, now), 0) << "its end is one from a wrong clock";
    note_confirmed(record, {most_used + 1, reset}, now + 2, now + 2);
    EXPECT_EQ(known(record, 0, now + 2, now + 2), 0) << "its count is no limit's";
}

TEST(Confirmed, SaysWhatTheLastAnswerSaid) {
    ConfirmedRecord record = confirmed(5);
    note_confirmed(record, {6, reset}, now + 1, now + 2);
    EXPECT_EQ(known(record, 0, now + 2, now + 2), 6);
    note_confirmed(record, {1, reset}, now + 3, now + 4);
    EXPECT_EQ(known(record, 0, now + 4, now + 4), 1) << "another machine has given something back";
    note_confirmed(record, {1, reset + 1}, now + 5, now + 6);
    EXPECT_EQ(confirmed_between(record, 0, now + 6, hour, now + 6)->reset, reset + 1);
}

/// Charges of two workers are on their way at a time.
TEST(Confirmed, IsNotLessForAnAnswerThatMayBeOlder) {
    ConfirmedRecord record = confirmed(5);
    note_confirmed(record, {4, reset}, now, now + 1);
    EXPECT_EQ(known(record, 0, now + 1, now + 1), 5);
    note_confirmed(record, {7, reset}, now - 1, now + 2);
    EXPECT_EQ(known(record, 0, now + 2, now + 2), 7);
    note_confirmed(record, {9, reset + 1}, now, now + 3);
    EXPECT_EQ(known(record, 0, now + 3, now + 3), 7) << "which of both windows is newer, nobody knows";
}

TEST(Confirmed, IsVoidOnceSomethingWasGivenBack) {
    ConfirmedRecord record = confirmed(5);
    make_void(record, now + 10);
    EXPECT_EQ(known(record, 0, now + 10, now + 10), 0);
    note_confirmed(record, {6, reset}, now + 9, now + 11);
    EXPECT_EQ(known(record, 0, now + 11, now + 11), 0) << "an answer from before";
    note_confirmed(record, {1, reset}, now + 11, now + 12);
    EXPECT_EQ(known(record, 0, now + 12, now + 12), 1);
}

TEST(Confirmed, IsForgottenWhereTheClockWasSetBack) {
    ConfirmedRecord record = confirmed(5);
    EXPECT_EQ(known(record, 0, now, now - clocks_apart), 5) << "of a worker whose clock is behind";
    EXPECT_EQ(known(record, 0, now, now - clocks_apart - 1), 0);
    note_confirmed(record, {2, reset - 10'000}, now - 10'000, now - 9'000);
    EXPECT_EQ(known(record, 0, now, now - 9'000), 2);
}

TEST(Confirmed, GivesWayBeforeWindows) {
    const EvictionRank rank = eviction_rank(confirmed(5), now);
    EXPECT_EQ(rank.tier, EvictionTier::copy);
    EXPECT_EQ(rank.share, 0);
    EXPECT_EQ(eviction_rank(confirmed(5), now + confirmed_kept).tier, EvictionTier::ended);
}

TEST(Confirmed, LiesBesideItsWindow) {
    const WindowId id{7, 9};
    EXPECT_NE(confirmed_id_of(id), id);
    EXPECT_EQ(confirmed_id_of(id).high, id.high) << "in the same sets";
    EXPECT_EQ(confirmed_id_of(confirmed_id_of(id)), id);
}

}  // namespace
}  // namespace rate_limit::confirmed_test
