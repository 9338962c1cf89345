#include "core/machine/windows/tokens.h"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "window_terms.h"

namespace rate_limit::tokens_test {
namespace {

constexpr Millis reset = now + 60'000;

/// The primary grants tokens, and says how many are used with them.
bool granted(WindowRecord& record, std::int64_t limit, std::int64_t tokens, std::int64_t used,
             Millis until = reset, Millis at = now) {
    return grant(record, terms(limit, at), {used, until}, tokens, question(record.events));
}

WindowRecord with_tokens(std::int64_t limit, std::int64_t tokens, std::int64_t used) {
    WindowRecord record = with_id();
    EXPECT_TRUE(granted(record, limit, tokens, used));
    return record;
}

TEST(Consume, SpendsWhatIsThereAndNoMore) {
    WindowRecord record = with_tokens(100, 5, 5);
    for (const auto& [cost, left] : {std::pair{2, 3}, {4, 3}, {0, 3}, {3, 0}, {1, 0}}) {
        const bool enough = cost <= at_hand(record);
        EXPECT_EQ(consume(record, terms(100), cost), enough) << cost;
        EXPECT_EQ(at_hand(record), left) << cost;
    }
    EXPECT_EQ(record.used, 5) << "tokens count as used from their grant on";
}

TEST(Consume, OnlyInAnOpenWindow) {
    WindowRecord record = with_tokens(100, 5, 5);
    EXPECT_FALSE(consume(record, terms(100, reset), 1));
    EXPECT_EQ(at_hand(record), 5);
    EXPECT_TRUE(consume(record, terms(100, reset - 1), 1));
    WindowRecord none = with_id();
    EXPECT_FALSE(consume(none, terms(100), 1));
    EXPECT_FALSE(consume(none, terms(100), 0)) << "there is no window, even for a request that costs nothing";
    record.reset = latest_reset(60, now) + 1;
    EXPECT_FALSE(consume(record, terms(100), 1)) << "the reset is from a wrong clock";
}

TEST(Consume, OnlyWithinTheCallersOwnLimit) {
    WindowRecord record = with_tokens(100, 40, 50);
    EXPECT_FALSE(consume(record, terms(10), 1)) << "ten are spent";
    EXPECT_TRUE(consume(record, terms(11), 1));
    EXPECT_FALSE(consume(record, terms(11), 1));
    EXPECT_FALSE(consume(record, terms(20), 10));
    EXPECT_TRUE(consume(record, terms(21), 10));
    EXPECT_EQ(at_hand(record), 29);
}

TEST(Consume, WhatIsInFlightCountsToo) {
    WindowRecord record = with_tokens(10, 5, 5);
    record.in_flight = 8;
    EXPECT_TRUE(consume(record, terms(10), 2));
    EXPECT_FALSE(consume(record, terms(10), 1));
    EXPECT_EQ(at_hand(record), 3);
}

TEST(Consume, TheLargestCostIsTooMuch) {
    WindowRecord record = with_tokens(max_limit, max_limit, max_limit);
    EXPECT_FALSE(consume(record, terms(max_limit), most));
    EXPECT_TRUE(consume(record, terms(max_limit), max_limit));
    EXPECT_EQ(at_hand(record), 0);
}

TEST(Taken, TokensAtHandAreNotSpent) {
    WindowRecord record = with_tokens(100, 5, 30);
    EXPECT_EQ(taken(record), 25);
    record.in_flight = 2;
    EXPECT_EQ(taken(record), 27);
    EXPECT_TRUE(consume(record, terms(100), 3));
    EXPECT_EQ(taken(record), 30);
    record.used = 1;
    EXPECT_EQ(taken(record), 2) << "never below what is in flight";
}

TEST(Taken, TokensLeaveRoomForOthers) {
    WindowRecord record = with_tokens(10, 5, 10);
    EXPECT_TRUE(enter(record, terms(10)));
}

TEST(Grant, OpensTheWindowOfTheAnswerAndAddsToWhatIsThere) {
    WindowRecord record = with_tokens(100, 5, 25);
    EXPECT_EQ(state_of(record), "25 of 100 until +60000, 5 tokens");
    EXPECT_EQ(record.asked_or_told, static_cast<std::uint32_t>(now));
    EXPECT_TRUE(granted(record, 100, 7, 40));
    EXPECT_EQ(state_of(record), "40 of 100 until +60000, 12 tokens");
    EXPECT_TRUE(granted(record, 100, 0, 100));
    EXPECT_EQ(state_of(record), "100 of 100 until +60000, 12 tokens") << "an answer that grants none counts";
}

TEST(Grant, TokensOfAWindowThatHasEndedStayWithTheCaller) {
    WindowRecord record = with_id();
    EXPECT_FALSE(granted(record, 100, 5, 5, now));
    EXPECT_EQ(state_of(record), "no window");
}

TEST(Grant, TokensOfAnOlderWindowStayWithTheCaller) {
    WindowRecord record = with_tokens(100, 5, 5);
    const auto events = static_cast<std::uint32_t>(record.events);
    learn(record, terms(100), {3, reset + 1000});
    EXPECT_FALSE(grant(record, terms(100), {9, reset}, 4, question(events)));
    EXPECT_EQ(state_of(record), "3 of 100 until +61000");
}

TEST(Grant, TokensOfANewerWindowReplaceThoseOfTheOneThatRedisLost) {
    WindowRecord record = with_tokens(100, 50, 50);
    EXPECT_TRUE(granted(record, 100, 5, 5, reset + 1000));
    EXPECT_EQ(state_of(record), "5 of 100 until +61000, 5 tokens");
}

TEST(Grant, WithoutAWindowThereIsNothingHere) {
    WindowRecord record = with_tokens(100, 50, 50);
    EXPECT_FALSE(grant(record, terms(100), {0, 0}, 0, question(record.events)));
    EXPECT_EQ(state_of(record), "no window");
}

TEST(Grant, LessThanRememberedIsBelievedIfNothingCameBetween) {
    WindowRecord record = with_tokens(100, 5, 90);
    EXPECT_TRUE(granted(record, 100, 4, 40));
    EXPECT_EQ(state_of(record), "40 of 100 until +60000, 9 tokens") << "an operator has reduced the count";
}

TEST(Grant, LessThanRememberedIsOldIfAnotherGrantOrAChargeCameBetween) {
    const WindowRecord before = with_tokens(100, 5, 50);
    WindowRecord record = before;
    EXPECT_TRUE(granted(record, 100, 5, 60));
    EXPECT_TRUE(grant(record, terms(100), {55, reset}, 5, question(before.events)));
    EXPECT_EQ(state_of(record), "60 of 100 until +60000, 15 tokens");
    record = before;
    send(record, terms(100), 3);
    count_answered(record, record.ticket, 1, now);
    EXPECT_TRUE(grant(record, terms(100), {52, reset}, 2, question(before.events)));
    EXPECT_EQ(state_of(record), "53 of 100 until +60000, 7 tokens");
}

TEST(Grant, NeverMoreThanFits) {
    constexpr std::int64_t much = max_leased * 2;
    WindowRecord record = with_tokens(max_limit, max_limit, much);
    EXPECT_TRUE(granted(record, max_limit, max_limit, much));
    EXPECT_EQ(at_hand(record), max_leased);
    EXPECT_TRUE(give_back(record, reset, 60, now, max_limit));
    EXPECT_EQ(at_hand(record), max_leased);
}

TEST(Grant, NeverMoreAtHandThanRedisCounts) {
    WindowRecord record = with_tokens(100, 50, 60);
    EXPECT_TRUE(granted(record, 100, 7, 7)) << "an operator has deleted the window with the other tokens";
    EXPECT_EQ(state_of(record), "7 of 100 until +60000, 7 tokens");
    EXPECT_TRUE(give_back(record, reset, 60, now, 1));
    EXPECT_EQ(at_hand(record), 7);
    confirm_refund(record, reset, {3, reset});
    EXPECT_EQ(record.used, 7) << "the answer is older than the grant";
}

TEST(Tokens, StayOnlyWhileItIsTheSameWindow) {
    const WindowRecord before = with_tokens(100, 5, 25);
    for (const bool same : {true, false}) {
        const std::uint64_t left = same ? 5 : 0;
        WindowRecord learned = before;
        learn(learned, terms(100), {30, reset + (same ? 0 : 1)});
        EXPECT_EQ(learned.leased, left) << same;

        WindowRecord confirmed = before;
        const Receipt receipt = sent(confirmed, 1, 100);
        confirm(confirmed, receipt, 1, 60, now, {26, reset - (same ? 0 : 1)});
        EXPECT_EQ(confirmed.leased, left) << same;

        WindowRecord replaced = before;
        replace(replaced, terms(100), {7, reset - (same ? 0 : 1)}, question(replaced.events));
        EXPECT_EQ(replaced.leased, left) << same;
    }
}

TEST(Tokens, GoIfThePrimaryHasNoWindow) {
    WindowRecord record = with_tokens(100, 5, 25);
    record.in_flight = 1;
    replace(record, terms(100), {0, 0}, question(record.events));
    EXPECT_EQ(state_of(record), "0 of 100 until +60000, proposed, 1 in flight");
}

TEST(Tokens, DoNotPassToTheNextWindow) {
    WindowRecord record = with_tokens(100, 5, 25);
    learn(record, terms(100, reset), {1, reset + 60'000});
    EXPECT_EQ(at_hand(record), 0);
    WindowRecord entered = with_tokens(100, 5, 25);
    EXPECT_TRUE(enter(entered, terms(100, reset)));
    EXPECT_EQ(at_hand(entered), 0);
}

TEST(GiveBack, ReturnsTokensToTheirWindow) {
    WindowRecord record = with_tokens(100, 5, 25);
    EXPECT_TRUE(consume(record, terms(100), 3));
    EXPECT_TRUE(give_back(record, reset, 60, now, 3));
    EXPECT_EQ(at_hand(record), 5);
    EXPECT_EQ(record.used, 25);
}

TEST(GiveBack, RefusesAnyOtherWindow) {
    WindowRecord record = with_tokens(100, 5, 25);
    const WindowRecord before = record;
    EXPECT_FALSE(give_back(record, reset - 1, 60, now, 3));
    EXPECT_FALSE(give_back(record, reset, 60, reset, 3)) << "it has ended";
    EXPECT_EQ(record, before);
    record.confirmed = false;
    EXPECT_FALSE(give_back(record, reset, 60, now, 3)) << "the primary knows of no window";
    WindowRecord none = with_id();
    EXPECT_FALSE(give_back(none, 0, 60, now, 3));
    EXPECT_EQ(none, with_id());
}

}  // namespace
}  // namespace rate_limit::tokens_test
