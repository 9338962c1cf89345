#include "core/machine/windows/window_account.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "window_terms.h"

namespace rate_limit::window_account_test {
namespace {

const Terms local = terms(10, now, Truth::local);

TEST(Enter, OpensAWindowWithOneProposalForAllRequests) {
    WindowRecord record = with_id();
    EXPECT_TRUE(enter(record, terms(10)));
    EXPECT_EQ(state_of(record), "0 of 10 until +60000, proposed, 1 in flight");
    EXPECT_EQ(record.id, (WindowId{7, 8}));
    EXPECT_EQ(record.ticket, static_cast<Ticket>(now + 60'000));
    EXPECT_TRUE(enter(record, terms(10, now + 999)));
    EXPECT_EQ(state_of(record), "0 of 10 until +60000, proposed, 2 in flight");
}

TEST(Enter, ALocalWindowIsItsOwnTruthOnceCharged) {
    WindowRecord record = with_id();
    EXPECT_TRUE(enter(record, local));
    EXPECT_EQ(state_of(record), "0 of 10 until +60000, local, proposed, 1 in flight");
    charge(record, local, 1);
    leave(record, record.ticket);
    EXPECT_EQ(state_of(record), "1 of 10 until +60000, local");
}

TEST(Enter, CountsUsedSentAndInFlight) {
    WindowRecord record = known(5, now + 1000);
    send(record, terms(10), 3);
    EXPECT_TRUE(enter(record, terms(10)));
    EXPECT_TRUE(enter(record, terms(10)));
    EXPECT_EQ(taken(record), 10);
    EXPECT_FALSE(enter(record, terms(10)));
    EXPECT_EQ(record.in_flight, 2U);
    EXPECT_TRUE(enter(record, terms(11)));
}

TEST(WindowAccount, WhatIsRefusedOrCostsNothingChangesNothing) {
    for (const WindowRecord& before : {with_id(), known(10, now + 1000)}) {
        WindowRecord record = before;
        EXPECT_FALSE(enter(record, terms(before.used))) << "the limit is used up";
        EXPECT_FALSE(charge_if_fits(record, terms(10), 11));
        EXPECT_TRUE(charge_if_fits(record, terms(10), 0));
        charge(record, terms(10), 0);
        EXPECT_EQ(record, before);
    }
}

TEST(Enter, ANewWindowStartsWithNothingWhenTheLastMillisecondHasPassed) {
    WindowRecord record = known(10, now + 1000);
    record.leased = 4;
    send(record, terms(10), 3);
    EXPECT_FALSE(enter(record, terms(9, now + 999)));
    EXPECT_TRUE(enter(record, terms(10, now + 1000)));
    EXPECT_EQ(state_of(record), "0 of 10 until +61000, proposed, 1 in flight");
}

TEST(Enter, AResetByAWrongClockIsNoWindow) {
    WindowRecord record = known(10, now + 1000);
    record.reset = latest_reset(60, now) + 1;
    EXPECT_TRUE(enter(record, terms(10)));
    EXPECT_EQ(record.reset, now + 60'000);
}

TEST(Enter, RefusesRatherThanForgetsToCount) {
    WindowRecord record = known(0, now + 1000);
    record.in_flight = WindowRecord::max_in_flight;
    EXPECT_FALSE(enter(record, terms(max_limit)));
    EXPECT_EQ(record.in_flight, WindowRecord::max_in_flight);
}

TEST(Enter, HugeCountsDoNotOverflow) {
    WindowRecord record = known(most, now + 1000);
    record.in_flight = 5;
    EXPECT_EQ(taken(record), most_used + 5);
    EXPECT_FALSE(enter(record, terms(max_limit)));
    send(record, terms(10), max_limit);
    EXPECT_EQ(record.used, most_used);
}

TEST(Leave, NeverBelowZero) {
    WindowRecord record = known(0, now + 1000);
    leave(record, record.ticket);
    EXPECT_EQ(record.in_flight, 0U);
    WindowRecord none;
    leave(none, 0);
    EXPECT_EQ(none, WindowRecord{});
}

TEST(Leave, AProposalThatNobodyChargedIsForgottenWithItsLastRequest) {
    for (const Truth truth : {Truth::local, Truth::redis}) {
        WindowRecord record = with_id();
        enter(record, terms(10, now, truth));
        enter(record, terms(10, now, truth));
        leave(record, record.ticket);
        EXPECT_EQ(record.reset, now + 60'000);
        EXPECT_EQ(record.in_flight, 1U);
        leave(record, record.ticket);
        EXPECT_EQ(record.reset, 0);
    }
}

TEST(Leave, AWindowThatRedisKnowsStays) {
    WindowRecord record = known(0, now + 1000);
    enter(record, terms(10));
    leave(record, record.ticket);
    EXPECT_EQ(record.reset, now + 1000);
}

TEST(Leave, ALateRequestLeavesTheNextWindowAlone) {
    WindowRecord record = with_id();
    enter(record, terms(10));
    const Ticket late = record.ticket;
    enter(record, terms(10, now + 60'000));
    EXPECT_EQ(record.in_flight, 1U);
    leave(record, late);
    EXPECT_EQ(record.in_flight, 1U);
}

TEST(Leave, ACorrectedResetKeepsItsRequests) {
    WindowRecord record = with_id();
    enter(record, terms(10));
    const Ticket ticket = record.ticket;
    learn(record, terms(10), {3, now + 20'000});
    EXPECT_EQ(state_of(record), "3 of 10 until +20000, 1 in flight");
    leave(record, ticket);
    EXPECT_EQ(record.in_flight, 0U);
}

TEST(ChargeIfFits, UpToTheLimitAndNotBeyond) {
    WindowRecord record = with_id();
    EXPECT_TRUE(charge_if_fits(record, local, 7));
    EXPECT_FALSE(charge_if_fits(record, local, 4));
    EXPECT_EQ(record.used, 7);
    EXPECT_TRUE(charge_if_fits(record, local, 3));
    EXPECT_FALSE(charge_if_fits(record, local, 1));
    EXPECT_EQ(record.used, 10);
    EXPECT_TRUE(charge_if_fits(record, terms(10, now + 60'000, Truth::local), 10)) << "in the next window";
    EXPECT_EQ(state_of(record), "10 of 10 until +120000, local");
}

TEST(Charge, MayPassTheLimit) {
    WindowRecord record = with_id();
    charge(record, local, 25);
    EXPECT_EQ(record.used, 25);
    charge(record, local, max_cost);
    EXPECT_EQ(record.used, max_cost + 25);
    charge(record, local, most_used - 1);
    EXPECT_EQ(record.used, most_used) << "it stops there";
    charge(record, local, 1);
    EXPECT_EQ(record.used, most_used);
}

TEST(Refund, OnlyToItsWindowAndNeverBelowZero) {
    WindowRecord record = with_id();
    charge(record, local, 5);
    refund(record, record.ticket, 2);
    EXPECT_EQ(record.used, 3);
    refund(record, record.ticket + 1, 2);
    EXPECT_EQ(record.used, 3);
    WindowRecord entered = record;
    refund(record, record.ticket, 9);
    EXPECT_EQ(record.used, 0);
    EXPECT_EQ(record.reset, 0) << "all was refunded: the window is forgotten";
    entered.in_flight = 1;
    refund(entered, entered.ticket, 3);
    EXPECT_EQ(entered.reset, now + 60'000) << "a request is in flight in it";
}

TEST(Send, CountsAtOnceAndOnlyOnce) {
    WindowRecord record = known(1, now + 1000);
    send(record, terms(10), 5);
    EXPECT_EQ(state_of(record), "6 of 10 until +1000, 1 unanswered");
    learn(record, terms(10), {6, now + 1000});
    EXPECT_EQ(record.used, 6);
    send(record, terms(10), 2);
    EXPECT_EQ(record.used, 8);
    confirm(record, {record.ticket, 0}, 1, 60, now, {9, now + 1000});
    EXPECT_EQ(record.used, 9);
}

TEST(Send, AfterTheWindowsEndOpensTheNext) {
    WindowRecord record = known(7, now + 1000);
    const Ticket ticket = record.ticket;
    send(record, terms(10, now + 1000), 2);
    EXPECT_EQ(state_of(record), "2 of 10 until +61000, proposed, 1 unanswered");
    EXPECT_NE(record.ticket, ticket);
}

TEST(CountAnswered, OnlyItsWindowAndNeverBelowZero) {
    WindowRecord record = known(1, now + 1000);
    send(record, terms(10), 5);
    send(record, terms(10), 5);
    EXPECT_EQ(record.unanswered, 2U);
    count_answered(record, record.ticket + 1, 2, now);
    EXPECT_EQ(record.unanswered, 2U);
    count_answered(record, record.ticket, 1, now);
    EXPECT_EQ(record.unanswered, 1U);
    count_answered(record, record.ticket, 9, now);
    EXPECT_EQ(state_of(record), "11 of 10 until +1000");
}

TEST(CountAnswered, ACountThatDoesNotFitStays) {
    WindowRecord record = known(1, now + 1000);
    record.unanswered = WindowRecord::max_unanswered;
    send(record, terms(10), 1);
    count_answered(record, record.ticket, 1, now);
    EXPECT_EQ(record.unanswered, WindowRecord::max_unanswered);
}

TEST(NoteLasting, OfTheConfirmedWindowAndUntilItIsGone) {
    WindowRecord record = known(5, now + 1000);
    note_lasting(record, now + 999);
    EXPECT_FALSE(record.lasting) << "another window";
    note_lasting(record, now + 1000);
    EXPECT_TRUE(record.lasting);
    learn(record, terms(10), {6, now + 1000});
    EXPECT_TRUE(record.lasting);
    WindowRecord moved = record;
    learn(moved, terms(10), {1, now + 2000});
    EXPECT_FALSE(moved.lasting) << "Redis has opened another";
    WindowRecord gone = record;
    confirm_refund(gone, now + 1000, {});
    EXPECT_FALSE(gone.lasting) << "an operator has deleted it";
    EXPECT_TRUE(enter(record, terms(10, now + 1000)));
    EXPECT_FALSE(record.lasting) << "the next one";
}

}  // namespace
}  // namespace rate_limit::window_account_test
