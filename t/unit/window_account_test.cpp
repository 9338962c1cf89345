#include "core/window_account.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace rate_limit {
namespace {

constexpr Millis now = 1'700'000'000'000;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

Terms terms(std::int64_t limit, Millis at = now, Truth truth = Truth::redis) {
    return {{limit, 60}, truth, at + 60'000, at};
}

WindowRecord with_id() {
    WindowRecord record;
    record.id = {7, 8};
    return record;
}

/// A window that Redis has confirmed.
WindowRecord known(std::int64_t used, Millis reset, std::int64_t limit = 10) {
    WindowRecord record = with_id();
    learn(record, terms(limit), {used, reset});
    return record;
}

TEST(Enter, OpensAWindowWithTheProposal) {
    WindowRecord record = with_id();
    EXPECT_TRUE(enter(record, terms(10)));
    EXPECT_EQ(record.id, (WindowId{7, 8}));
    EXPECT_EQ(record.reset, now + 60'000);
    EXPECT_EQ(record.ticket, static_cast<Ticket>(now + 60'000));
    EXPECT_EQ(record.used, 0);
    EXPECT_EQ(record.limit, 10U);
    EXPECT_EQ(record.in_flight, 1U);
    EXPECT_EQ(record.truth, Truth::redis);
    EXPECT_FALSE(record.confirmed);
}

TEST(Enter, OneProposalServesAllRequests) {
    WindowRecord record = with_id();
    EXPECT_TRUE(enter(record, terms(10)));
    EXPECT_TRUE(enter(record, terms(10, now + 999)));
    EXPECT_EQ(record.reset, now + 60'000);
    EXPECT_EQ(record.in_flight, 2U);
}

TEST(Enter, ALocalWindowIsItsOwnTruthOnceCharged) {
    WindowRecord record = with_id();
    const Terms local = terms(10, now, Truth::local);
    EXPECT_TRUE(enter(record, local));
    EXPECT_EQ(record.truth, Truth::local);
    EXPECT_FALSE(record.confirmed);
    charge(record, local, 1);
    leave(record, record.ticket);
    EXPECT_TRUE(record.confirmed);
    EXPECT_EQ(record.used, 1);
    EXPECT_EQ(record.reset, now + 60'000);
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

TEST(Enter, RefusalChangesNothing) {
    WindowRecord record = known(10, now + 1000);
    const WindowRecord before = record;
    EXPECT_FALSE(enter(record, terms(10)));
    EXPECT_EQ(record, before);
}

TEST(Enter, ALimitOfNothingOpensNothing) {
    WindowRecord record = with_id();
    EXPECT_FALSE(enter(record, terms(0)));
    EXPECT_EQ(record, with_id());
}

TEST(Enter, ANewWindowStartsWithNothing) {
    WindowRecord record = known(10, now + 1000);
    record.leased = 4;
    send(record, terms(10), 3);
    const Millis later = now + 1000;
    EXPECT_TRUE(enter(record, terms(10, later)));
    EXPECT_EQ(record.reset, later + 60'000);
    EXPECT_EQ(record.used, 0);
    EXPECT_EQ(record.unanswered, 0U);
    EXPECT_EQ(record.leased, 0U);
    EXPECT_EQ(record.in_flight, 1U);
    EXPECT_FALSE(record.confirmed);
}

TEST(Enter, ALastMillisecondIsOpen) {
    WindowRecord record = known(10, now + 1000);
    EXPECT_FALSE(enter(record, terms(10, now + 999)));
    EXPECT_TRUE(enter(record, terms(10, now + 1000)));
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
    EXPECT_EQ(taken(record), most);
    EXPECT_FALSE(enter(record, terms(max_limit)));
    send(record, terms(10), max_limit);
    EXPECT_EQ(record.used, most);
}

TEST(Leave, TakesBackOne) {
    WindowRecord record = with_id();
    enter(record, terms(10));
    enter(record, terms(10));
    leave(record, record.ticket);
    EXPECT_EQ(record.in_flight, 1U);
}

TEST(Leave, NeverBelowZero) {
    WindowRecord record = known(0, now + 1000);
    leave(record, record.ticket);
    EXPECT_EQ(record.in_flight, 0U);
    WindowRecord none;
    leave(none, 0);
    EXPECT_EQ(none, WindowRecord{});
}

TEST(Leave, AProposalThatNobodyChargedIsForgotten) {
    for (const Truth truth : {Truth::local, Truth::redis}) {
        WindowRecord record = with_id();
        enter(record, terms(10, now, truth));
        enter(record, terms(10, now, truth));
        leave(record, record.ticket);
        EXPECT_EQ(record.reset, now + 60'000);
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
    EXPECT_EQ(record.reset, now + 20'000);
    EXPECT_EQ(record.in_flight, 1U);
    leave(record, ticket);
    EXPECT_EQ(record.in_flight, 0U);
}

TEST(ChargeIfFits, UpToTheLimitAndNotBeyond) {
    WindowRecord record = with_id();
    const Terms local = terms(10, now, Truth::local);
    EXPECT_TRUE(charge_if_fits(record, local, 7));
    EXPECT_FALSE(charge_if_fits(record, local, 4));
    EXPECT_EQ(record.used, 7);
    EXPECT_TRUE(charge_if_fits(record, local, 3));
    EXPECT_FALSE(charge_if_fits(record, local, 1));
    EXPECT_EQ(record.used, 10);
}

TEST(ChargeIfFits, NothingIsFree) {
    WindowRecord record = with_id();
    EXPECT_TRUE(charge_if_fits(record, terms(10), 0));
    EXPECT_EQ(record, with_id());
}

TEST(ChargeIfFits, ARefusalOpensNothing) {
    WindowRecord record = with_id();
    EXPECT_FALSE(charge_if_fits(record, terms(10), 11));
    EXPECT_EQ(record, with_id());
}

TEST(ChargeIfFits, ANewWindowHasItsWholeLimit) {
    WindowRecord record = with_id();
    EXPECT_TRUE(charge_if_fits(record, terms(10, now, Truth::local), 10));
    EXPECT_TRUE(charge_if_fits(record, terms(10, now + 60'000, Truth::local), 10));
    EXPECT_EQ(record.used, 10);
    EXPECT_EQ(record.reset, now + 120'000);
}

TEST(Charge, MayPassTheLimit) {
    WindowRecord record = with_id();
    charge(record, terms(10, now, Truth::local), 25);
    EXPECT_EQ(record.used, 25);
    charge(record, terms(10, now, Truth::local), most);
    EXPECT_EQ(record.used, most);
}

TEST(Charge, OfNothingOpensNothing) {
    WindowRecord record = with_id();
    charge(record, terms(10), 0);
    EXPECT_EQ(record, with_id());
}

TEST(Refund, OnlyToItsWindowAndNeverBelowZero) {
    WindowRecord record = with_id();
    charge(record, terms(10, now, Truth::local), 5);
    refund(record, record.ticket, 2);
    EXPECT_EQ(record.used, 3);
    refund(record, record.ticket + 1, 2);
    EXPECT_EQ(record.used, 3);
    refund(record, record.ticket, 9);
    EXPECT_EQ(record.used, 0);
    EXPECT_EQ(record.reset, 0) << "all of it was given back: no window was opened";
}

TEST(Refund, KeepsAWindowThatSomebodyIsIn) {
    WindowRecord record = with_id();
    charge(record, terms(10, now, Truth::local), 5);
    record.in_flight = 1;
    refund(record, record.ticket, 5);
    EXPECT_EQ(record.reset, now + 60'000);
}

TEST(Send, CountsAtOnceAndOnlyOnce) {
    WindowRecord record = known(1, now + 1000);
    send(record, terms(10), 5);
    EXPECT_EQ(record.used, 6);
    EXPECT_EQ(record.unanswered, 1U);
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
    EXPECT_EQ(record.used, 2);
    EXPECT_EQ(record.reset, now + 61'000);
    EXPECT_NE(record.ticket, ticket);
    EXPECT_FALSE(record.confirmed);
}

TEST(Settle, OnlyItsWindowAndNeverBelowZero) {
    WindowRecord record = known(1, now + 1000);
    send(record, terms(10), 5);
    send(record, terms(10), 5);
    EXPECT_EQ(record.unanswered, 2U);
    settle(record, record.ticket + 1, 2, now);
    EXPECT_EQ(record.unanswered, 2U);
    settle(record, record.ticket, 1, now);
    EXPECT_EQ(record.unanswered, 1U);
    settle(record, record.ticket, 9, now);
    EXPECT_EQ(record.unanswered, 0U);
    EXPECT_EQ(record.used, 11);
}

TEST(Settle, ACountThatDoesNotFitStays) {
    WindowRecord record = known(1, now + 1000);
    record.unanswered = WindowRecord::max_unanswered;
    send(record, terms(10), 1);
    settle(record, record.ticket, 1, now);
    EXPECT_EQ(record.unanswered, WindowRecord::max_unanswered);
}

TEST(Learn, TheFirstAnswerOpensTheWindow) {
    const WindowRecord record = known(4, now + 1000);
    EXPECT_EQ(record.used, 4);
    EXPECT_EQ(record.reset, now + 1000);
    EXPECT_EQ(record.ticket, static_cast<Ticket>(now + 1000));
    EXPECT_EQ(record.limit, 10U);
    EXPECT_EQ(record.truth, Truth::redis);
    EXPECT_TRUE(record.confirmed);
}

TEST(Learn, UsedNeverGoesBackwards) {
    WindowRecord record = known(4, now + 1000);
    learn(record, terms(10), {3, now + 1000});
    EXPECT_EQ(record.used, 4);
    learn(record, terms(10), {5, now + 1000});
    EXPECT_EQ(record.used, 5);
}

TEST(Learn, AnEndedAnswerSaysNothing) {
    WindowRecord record = known(4, now + 1000);
    const WindowRecord before = record;
    learn(record, terms(10), {9, now});
    learn(record, terms(10), {9, 0});
    learn(record, terms(10), {9, latest_reset(60, now) + 1});
    EXPECT_EQ(record, before);
    WindowRecord none = with_id();
    learn(none, terms(10), {9, now});
    EXPECT_EQ(none, with_id());
}

TEST(Learn, AStoredResetReplacesTheProposalEitherWay) {
    for (const Millis stored : {now + 20'000, now + 90'000}) {
        WindowRecord record = with_id();
        enter(record, terms(10));
        learn(record, terms(10), {3, stored});
        EXPECT_EQ(record.reset, stored);
        EXPECT_EQ(record.used, 3);
        EXPECT_EQ(record.in_flight, 1U);
        EXPECT_TRUE(record.confirmed);
    }
}

TEST(Learn, AStoredResetKeepsWhatWasSentFromHere) {
    WindowRecord record = with_id();
    send(record, terms(10), 4);
    learn(record, terms(10), {3, now + 20'000});
    EXPECT_EQ(record.used, 4);
    EXPECT_EQ(record.reset, now + 20'000);
}

TEST(Learn, OfTwoStoredResetsTheLaterWins) {
    WindowRecord record = known(8, now + 20'000);
    learn(record, terms(10), {2, now + 50'000});
    EXPECT_EQ(record.used, 2);
    EXPECT_EQ(record.reset, now + 50'000);
    learn(record, terms(10), {9, now + 20'000});
    EXPECT_EQ(record.used, 2);
    EXPECT_EQ(record.reset, now + 50'000);
}

TEST(Learn, TheNextWindowStartsWithNothingInFlight) {
    WindowRecord record = with_id();
    enter(record, terms(10));
    send(record, terms(10), 2);
    learn(record, terms(10, now + 60'000), {1, now + 100'000});
    EXPECT_EQ(record.in_flight, 0U);
    EXPECT_EQ(record.unanswered, 0U);
    EXPECT_EQ(record.used, 1);
}

TEST(Learn, AnswersBelowZeroAreZero) {
    EXPECT_EQ(known(-5, now + 1000).used, 0);
}

TEST(Confirm, OnlyAWindowThatIsOpenHere) {
    WindowRecord record = with_id();
    confirm(record, {}, 1, 60, now, {3, now + 1000});
    EXPECT_EQ(record.reset, 0);
    record = known(2, now + 1000);
    confirm(record, {}, 1, 60, now + 1000, {3, now + 30'000});
    EXPECT_EQ(record.used, 2);
}

Receipt sent(WindowRecord& record, std::int64_t cost) {
    send(record, terms(1000), cost);
    return {record.ticket, static_cast<std::uint32_t>(record.events)};
}

TEST(Confirm, TheOnlyChargeOnItsWayBringsTheLastWord) {
    WindowRecord record = known(50, now + 1000);
    const Receipt receipt = sent(record, 2);
    EXPECT_EQ(record.used, 52);
    confirm(record, receipt, 1, 60, now, {2, now + 900});
    EXPECT_EQ(record.used, 2) << "Redis had lost the window";
    EXPECT_EQ(record.reset, now + 900);
    EXPECT_EQ(record.unanswered, 0U);
}

TEST(Confirm, OtherwiseItOnlyRaises) {
    WindowRecord record = known(50, now + 1000);
    const Receipt first = sent(record, 1);
    const Receipt second = sent(record, 1);
    confirm(record, second, 1, 60, now, {51, now + 1000});
    EXPECT_EQ(record.used, 52) << "the first is on its way";
    confirm(record, first, 1, 60, now, {51, now + 1000});
    EXPECT_EQ(record.used, 52) << "the second was answered meanwhile";
    EXPECT_EQ(record.unanswered, 0U);
    const Receipt third = sent(record, 1);
    send(record, terms(1000), 1);
    settle(record, record.ticket, 1, now);
    confirm(record, third, 1, 60, now, {53, now + 1000});
    EXPECT_EQ(record.used, 54) << "another was given up meanwhile";
}

TEST(Confirm, ChargesThatWaitedOnlyRaise) {
    WindowRecord record = known(50, now + 1000);
    const Receipt receipt = sent(record, 1);
    confirm(record, {receipt.ticket, Receipt::no_event}, 1, 60, now, {7, now + 1000});
    EXPECT_EQ(record.used, 51);
}

Question question(std::uint32_t events, std::int64_t waiting = 0) {
    return {events, waiting, 6000};
}

TEST(Confirm, AnAnswerOlderThanWhatAReplicaSaidOnlyRaises) {
    WindowRecord record = known(4, now + 1000);
    const Receipt receipt = sent(record, 1);
    learn(record, terms(1000), {10, now + 1000});
    confirm(record, receipt, 1, 60, now, {5, now + 1000});
    EXPECT_EQ(record.used, 10);
}

TEST(Confirm, AnAnswerThatSaysNothingNewDoesNotMakeItOlder) {
    WindowRecord record = known(4, now + 1000);
    const Receipt receipt = sent(record, 1);
    learn(record, terms(1000), {3, now + 1000});
    confirm(record, receipt, 1, 60, now, {2, now + 1000});
    EXPECT_EQ(record.used, 2);
}

TEST(ConfirmRefund, TakesLessOfTheSameWindow) {
    WindowRecord record = known(9, now + 1000);
    confirm_refund(record, {7, now + 1000});
    EXPECT_EQ(record.used, 7);
    EXPECT_EQ(record.asked, 0U) << "whether a limit is reached is still to be asked";
    confirm_refund(record, {3, now + 900});
    EXPECT_EQ(record.used, 7) << "of another window";
    confirm_refund(record, {0, 0});
    EXPECT_EQ(record.used, 7) << "of none";
    send(record, terms(10), 1);
    confirm_refund(record, {2, now + 1000});
    EXPECT_EQ(record.used, 8) << "a charge is on its way";
}

TEST(Replace, TakesLess) {
    WindowRecord record = known(10, now + 1000);
    replace(record, terms(10), {2, now + 1000}, question(record.events));
    EXPECT_EQ(record.used, 2);
    EXPECT_TRUE(enter(record, terms(10)));
}

TEST(Replace, TakesAnEarlierReset) {
    WindowRecord record = known(10, now + 5000);
    replace(record, terms(10), {2, now + 1000}, question(record.events));
    EXPECT_EQ(record.reset, now + 1000);
}

TEST(Replace, NoWindowMeansThatThereIsNone) {
    WindowRecord record = known(10, now + 1000);
    replace(record, terms(10), {0, 0}, question(record.events));
    EXPECT_EQ(record.reset, 0);
    EXPECT_TRUE(enter(record, terms(10)));
    EXPECT_EQ(record.reset, now + 60'000);
}

TEST(Replace, WhoIsInFlightStaysSo) {
    WindowRecord record = known(10, now + 1000);
    record.in_flight = 2;
    replace(record, terms(10), {0, 0}, question(record.events));
    EXPECT_EQ(record.used, 0);
    EXPECT_EQ(record.in_flight, 2U);
    EXPECT_EQ(record.reset, now + 60'000);
    EXPECT_FALSE(record.confirmed);
}

TEST(Replace, AWordOlderThanACharge) {
    WindowRecord record = known(9, now + 1000);
    const std::uint32_t events = record.events;
    send(record, terms(10), 1);
    replace(record, terms(10), {9, now + 1000}, question(events));
    EXPECT_EQ(record.used, 10) << "on its way";
    settle(record, record.ticket, 1, now);
    replace(record, terms(10), {9, now + 1000}, question(events));
    EXPECT_EQ(record.used, 10) << "answered since";
    replace(record, terms(10), {9, now + 1000}, question(record.events));
    EXPECT_EQ(record.used, 9);
}

TEST(Replace, WhatWaitsHereIsNotThereYet) {
    WindowRecord record = known(10, now + 1000);
    replace(record, terms(10), {2, now + 1000}, question(record.events, 3));
    EXPECT_EQ(record.used, 5);
    replace(record, terms(10), {0, 0}, question(record.events, 3));
    EXPECT_EQ(record.used, 3);
    EXPECT_EQ(record.reset, now + 1000);
    EXPECT_FALSE(record.confirmed);
}

TEST(Replace, WhatWaitsKeepsLaterAnswersFromLowering) {
    WindowRecord record = known(9, now + 60'000);
    send(record, terms(10), 1);
    replace(record, terms(10, now + 7000), {2, now + 60'000}, question(record.events, 1));
    EXPECT_EQ(record.used, 3);
    EXPECT_EQ(record.unanswered, 1U);
    send(record, terms(10, now + 7000), 1);
    const Receipt receipt{record.ticket, static_cast<std::uint32_t>(record.events)};
    confirm(record, receipt, 1, 60, now + 7000, {3, now + 60'000});
    EXPECT_EQ(record.used, 4) << "the one that waits is not in this answer";
}

TEST(Replace, AChargeThatSetOutAgainIsOnItsWay) {
    WindowRecord record = known(10, now + 9000);
    const std::uint32_t events = record.events;
    resend(record, now);
    replace(record, terms(10), {2, now + 9000}, question(events));
    EXPECT_EQ(record.used, 10);
}

TEST(Replace, AChargeLostWithItsWorkerIsNotWaitedForForEver) {
    WindowRecord record = known(9, now + 60'000);
    send(record, terms(10), 1);
    replace(record, terms(10, now + 6000), {2, now + 60'000}, question(record.events));
    EXPECT_EQ(record.used, 10);
    replace(record, terms(10, now + 6001), {2, now + 60'000}, question(record.events));
    EXPECT_EQ(record.used, 2);
    EXPECT_EQ(record.unanswered, 0U);
}

TEST(Replace, NoWindowHereNorThere) {
    WindowRecord record = with_id();
    replace(record, terms(10), {0, 0}, question(record.events));
    EXPECT_EQ(record, with_id());
}

TEST(MayAsk, OnceASecond) {
    WindowRecord record = known(10, now + 1000);
    EXPECT_TRUE(may_ask(record, now));
    EXPECT_FALSE(may_ask(record, now + 999));
    EXPECT_TRUE(may_ask(record, now + 1000));
    confirm(record, {}, 1, 60, now + 1500, {10, now + 2000});
    EXPECT_FALSE(may_ask(record, now + 2499)) << "the primary's answer to a charge is its word, too";
    EXPECT_TRUE(may_ask(record, now + 2500));
}

}  // namespace
}  // namespace rate_limit
