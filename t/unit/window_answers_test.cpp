#include "core/machine/windows/window_account.h"

#include <cstdint>
#include <initializer_list>

#include <gtest/gtest.h>

#include "window_terms.h"

namespace rate_limit::window_answers_test {
namespace {

/// Lets a node say one window after another, and compares the record after each answer.
struct Told {
    Window answer;
    const char* after;
};

void expect_learned(WindowRecord record, std::initializer_list<Told> answers) {
    for (const Told& told : answers) {
        learn(record, terms(10), told.answer);
        EXPECT_EQ(state_of(record), told.after);
    }
}

TEST(Learn, TheFirstAnswerOpensTheWindow) {
    const WindowRecord record = known(4, now + 1000);
    EXPECT_EQ(state_of(record), "4 of 10 until +1000");
    EXPECT_EQ(record.ticket, static_cast<Ticket>(now + 1000));
    EXPECT_EQ(known(-5, now + 1000).used, 0);
}

TEST(Learn, UsedNeverGoesBackwardsButTheLaterOfTwoStoredResetsWins) {
    expect_learned(with_id(), {{{4, now + 20'000}, "4 of 10 until +20000"},
                               {{3, now + 20'000}, "4 of 10 until +20000"},
                               {{5, now + 20'000}, "5 of 10 until +20000"},
                               {{2, now + 50'000}, "2 of 10 until +50000"},
                               {{9, now + 20'000}, "2 of 10 until +50000"}});
}

TEST(Learn, AnotherWindowTakesThePlaceOfTheOneThatWasKnownWhenThePrimaryWasAsked) {
    constexpr Millis lost = now + 20'000;
    WindowRecord record = known(4, lost);
    const auto learns = [&record](const Window& answer, Millis known) {
        learn(record, terms(10), answer, known);
        return state_of(record);
    };
    EXPECT_EQ(learns({3, now + 19'000}, 0), "4 of 10 until +20000") << "perhaps a replica says so";
    EXPECT_EQ(learns({3, now + 19'000}, now + 18'000), "4 of 10 until +20000");
    EXPECT_EQ(learns({3, now + 19'000}, lost), "3 of 10 until +19000");
    EXPECT_EQ(learns({9, lost}, lost), "3 of 10 until +19000") << "the answer is older than the record";
    EXPECT_EQ(learns({2, now + 18'000}, lost), "3 of 10 until +19000") << "nobody knows which is older";
    EXPECT_EQ(learns({2, now + 21'000}, lost), "2 of 10 until +21000");
}

TEST(Learn, OfAnIncrementTheCountAlone) {
    const auto learns = [](WindowRecord record, const Window& answer) {
        learn_count(record, terms(10), answer);
        return state_of(record);
    };
    EXPECT_EQ(learns(known(4, now + 1000), {5, now + 1000}), "5 of 10 until +1000");
    EXPECT_EQ(learns(known(4, now + 1000), {3, now + 1000}), "4 of 10 until +1000");
    EXPECT_EQ(learns(known(4, now + 1000), {5, now + 2000}), "4 of 10 until +1000");
    EXPECT_EQ(learns(with_id(), {5, now + 2000}), "no window") << "it was forgotten meanwhile";
}

TEST(Learn, AnEndedAnswerSaysNothing) {
    for (const WindowRecord& before : {with_id(), known(4, now + 1000)}) {
        WindowRecord record = before;
        for (const Millis reset : {now, Millis{0}, latest_reset(60, now) + 1}) {
            learn(record, terms(10), {9, reset});
        }
        EXPECT_EQ(record, before);
    }
}

TEST(Learn, AStoredResetReplacesTheProposalAndKeepsWhatIsUnderWayHere) {
    WindowRecord entered = with_id();
    enter(entered, terms(10));
    expect_learned(entered, {{{3, now + 20'000}, "3 of 10 until +20000, 1 in flight"}});
    expect_learned(entered, {{{3, now + 90'000}, "3 of 10 until +90000, 1 in flight"}});
    WindowRecord charged = with_id();
    send(charged, terms(10), 4);
    expect_learned(charged, {{{3, now + 20'000}, "4 of 10 until +20000, 1 unanswered"}});
}

TEST(Learn, TheNextWindowStartsWithNothingInFlight) {
    WindowRecord record = with_id();
    enter(record, terms(10));
    send(record, terms(10), 2);
    learn(record, terms(10, now + 60'000), {1, now + 100'000});
    EXPECT_EQ(state_of(record), "1 of 10 until +100000");
}

TEST(Confirm, OnlyAWindowThatIsOpenHere) {
    WindowRecord record = with_id();
    confirm(record, {}, 1, 60, now, {3, now + 1000});
    EXPECT_EQ(record.reset, 0);
    record = known(2, now + 1000);
    confirm(record, {}, 1, 60, now + 1000, {3, now + 30'000});
    EXPECT_EQ(record.used, 2);
}

TEST(Confirm, TheOnlyChargeOnItsWayBringsTheLastWord) {
    WindowRecord record = known(50, now + 1000);
    const Receipt receipt = sent(record, 2);
    EXPECT_EQ(record.used, 52);
    confirm(record, receipt, 1, 60, now, {2, now + 900});
    EXPECT_EQ(state_of(record), "2 of 1000 until +900") << "Redis had lost the window";
}

TEST(Confirm, OtherwiseItOnlyRaises) {
    WindowRecord record = known(50, now + 1000);
    const Receipt first = sent(record, 1);
    const Receipt second = sent(record, 1);
    confirm(record, second, 1, 60, now, {51, now + 1000});
    EXPECT_EQ(record.used, 52) << "the first charge is on its way";
    confirm(record, first, 1, 60, now, {51, now + 1000});
    EXPECT_EQ(record.used, 52) << "the second charge was answered meanwhile";
    EXPECT_EQ(record.unanswered, 0U);
    const Receipt third = sent(record, 1);
    send(record, terms(1000), 1);
    count_answered(record, record.ticket, 1, now);
    confirm(record, third, 1, 60, now, {53, now + 1000});
    EXPECT_EQ(record.used, 54) << "another charge was given up meanwhile";
}

TEST(Confirm, AnotherWindowTakesThePlaceOfTheOneThatWasCharged) {
    WindowRecord record = known(50, now + 1000);
    const Receipt first = sent(record, 1);
    const Receipt second = sent(record, 1);
    confirm(record, first, 1, 60, now, {2, now + 900}, now + 1000);
    EXPECT_EQ(state_of(record), "2 of 1000 until +900, 1 unanswered");
    confirm(record, second, 1, 60, now, {53, now + 1000}, now + 1000);
    EXPECT_EQ(state_of(record), "2 of 1000 until +900") << "an increment names the window that was known";
}

TEST(Confirm, LowersOnlyIfTheAnswerIsNoOlderThanTheRecord) {
    struct Case {
        const char* name;
        std::int64_t said;  // by a replica, while the charge was on its way
        bool waited;        // the charge, so that its worker does not know when it was sent
        std::int64_t used;
    };
    for (const Case& one : {Case{"a replica says nothing new", 3, false, 2},
                            Case{"a replica says more", 10, false, 10}, Case{"it waited", 3, true, 5}}) {
        WindowRecord record = known(4, now + 1000);
        Receipt receipt = sent(record, 1);
        learn(record, terms(1000), {one.said, now + 1000});
        receipt.events = one.waited ? Receipt::no_event : receipt.events;
        confirm(record, receipt, 1, 60, now, {2, now + 1000});
        EXPECT_EQ(record.used, one.used) << one.name;
    }
}

TEST(ConfirmRefund, AWindowThatIsGoneIsNoneThatLasts) {
    WindowRecord record = known(9, now + 1000);
    note_lasting(record, now + 1000);
    send(record, terms(10), 1);
    confirm_refund(record, now + 1000, {8, now + 1000});
    EXPECT_TRUE(record.lasting);
    confirm_refund(record, now + 1000, {0, 0});
    EXPECT_FALSE(record.lasting);
    EXPECT_EQ(state_of(record), "10 of 10 until +1000, 1 unanswered");
}

TEST(ConfirmRefund, TakesLessOfTheSameWindow) {
    WindowRecord record = known(9, now + 1000);
    confirm_refund(record, now + 1000, {7, now + 1000});
    EXPECT_EQ(record.used, 7);
    EXPECT_EQ(record.asked_or_told, 0U) << "this does not count as a question about the limit";
    confirm_refund(record, now + 900, {3, now + 900});
    EXPECT_EQ(record.used, 7) << "the answer is about another window";
    confirm_refund(record, now + 900, {0, 0});
    EXPECT_EQ(record.used, 7) << "another window is gone";
    send(record, terms(10), 1);
    confirm_refund(record, now + 1000, {2, now + 1000});
    EXPECT_EQ(record.used, 8) << "a charge is on its way";
    confirm_refund(record, now + 1000, {0, 0});
    EXPECT_EQ(record.used, 8) << "a charge on its way may open the window";
}

TEST(ConfirmRefund, ForgetsAWindowThatIsGone) {
    WindowRecord record = known(9, now + 1000);
    confirm_refund(record, now + 1000, {0, 0});
    EXPECT_EQ(state_of(record), "no window");
    EXPECT_TRUE(enter(record, terms(10)));
    EXPECT_EQ(state_of(record), "0 of 10 until +60000, proposed, 1 in flight");
}

TEST(ConfirmRefund, KeepsTheEndThatRequestsInFlightHaveShown) {
    WindowRecord record = known(9, now + 1000);
    ASSERT_TRUE(enter(record, terms(10)));
    const Ticket ticket = record.ticket;
    const std::uint32_t events = record.events;
    confirm_refund(record, now + 1000, {0, 0});
    EXPECT_EQ(state_of(record), "0 of 10 until +1000, proposed, 1 in flight");
    EXPECT_NE(record.events, events) << "an answer to an earlier question may be older";
    ASSERT_TRUE(enter(record, terms(10)));
    EXPECT_EQ(record.reset, now + 1000) << "the next request shares it";
    leave(record, ticket);
    leave(record, ticket);
    EXPECT_EQ(record.reset, 0) << "then it is forgotten";
}

TEST(ConfirmRefund, KeepsTokensAtHand) {
    WindowRecord record = known(9, now + 1000);
    record.leased = 4;
    confirm_refund(record, now + 1000, {0, 0});
    EXPECT_EQ(state_of(record), "9 of 10 until +1000, 4 tokens");
}

TEST(Replace, TakesOverWhatThePrimarySays) {
    WindowRecord in_flight = known(10, now + 1000);
    in_flight.in_flight = 2;
    struct Case {
        WindowRecord record;
        Window answer;
        std::int64_t waiting;  // the cost of the charges that wait here: the answer does not count them
        const char* after;
    };
    const Case cases[] = {
        {known(10, now + 1000), {2, now + 1000}, 0, "2 of 10 until +1000"},
        {known(10, now + 5000), {2, now + 1000}, 0, "2 of 10 until +1000"},
        {known(10, now + 1000), {0, 0}, 0, "no window"},
        {in_flight, {0, 0}, 0, "0 of 10 until +60000, proposed, 2 in flight"},
        {known(10, now + 1000), {2, now + 1000}, 3, "5 of 10 until +1000"},
        {known(10, now + 1000), {0, 0}, 3, "3 of 10 until +1000, proposed"},
    };
    for (const Case& one : cases) {
        WindowRecord record = one.record;
        replace(record, terms(10), one.answer, question(record.events, one.waiting));
        EXPECT_EQ(state_of(record), one.after);
        const Millis reset = record.reset;
        EXPECT_TRUE(enter(record, terms(10))) << one.after;
        EXPECT_EQ(record.reset, reset != 0 ? reset : now + 60'000) << one.after;
    }
    WindowRecord none = with_id();
    replace(none, terms(10), {0, 0}, question(none.events));
    EXPECT_EQ(none, with_id()) << "no window in either changes nothing";
}

TEST(Replace, AnAnswerOlderThanAChargeLowersNothing) {
    WindowRecord record = known(9, now + 1000);
    const std::uint32_t events = record.events;
    send(record, terms(10), 1);
    replace(record, terms(10), {9, now + 1000}, question(events));
    EXPECT_EQ(record.used, 10) << "the charge is on its way";
    count_answered(record, record.ticket, 1, now);
    replace(record, terms(10), {9, now + 1000}, question(events));
    EXPECT_EQ(record.used, 10) << "the charge was answered after the question";
    replace(record, terms(10), {9, now + 1000}, question(record.events));
    EXPECT_EQ(record.used, 9);
}

TEST(Replace, AnotherWindowIsNewerThanTheOneThatWasAskedAbout) {
    WindowRecord record = known(9, now + 1000);
    Question asked = question(record.events);
    send(record, terms(10), 1);
    replace(record, terms(10), {3, now + 900}, asked);
    EXPECT_EQ(state_of(record), "10 of 10 until +1000, 1 unanswered");
    asked.known = now + 1000;
    replace(record, terms(10), {3, now + 900}, asked);
    EXPECT_EQ(state_of(record), "3 of 10 until +900, 1 unanswered");
}

TEST(Replace, AChargeThatWaitsKeepsLaterAnswersFromLowering) {
    WindowRecord record = known(9, now + 60'000);
    send(record, terms(10), 1);
    replace(record, terms(10, now + 7000), {2, now + 60'000}, question(record.events, 1));
    EXPECT_EQ(state_of(record), "3 of 10 until +60000, 1 unanswered");
    send(record, terms(10, now + 7000), 1);
    const Receipt receipt{record.ticket, static_cast<std::uint32_t>(record.events)};
    confirm(record, receipt, 1, 60, now + 7000, {3, now + 60'000});
    EXPECT_EQ(record.used, 4) << "the charge that waits is not in this answer";
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
    EXPECT_EQ(state_of(record), "2 of 10 until +60000");
}

/// Waits until the primary may be asked about the record again, lets it answer, and returns how long that
/// took, in milliseconds.
Millis asked_after(WindowRecord& record, Millis& at, const Window& answer, std::int64_t waiting = 0) {
    const Millis before = at;
    while (!may_ask(record, at)) {
        at += 500;
    }
    replace(record, terms(10, at), answer, question(record.events, waiting));
    return at - before;
}

/// A record about which the primary was asked, from `now` on, until the interval had grown to its longest.
/// Sets `at` to the time of the last question.
WindowRecord hammered(Millis& at, Millis reset) {
    WindowRecord record = known(10, reset);
    heard(record, now);
    at = now;
    for (const Millis expected : {1000, 2000, 4000, 8000, 10'000, 10'000, 10'000}) {
        EXPECT_EQ(asked_after(record, at, {10, reset}), expected);
    }
    return record;
}

TEST(MayAsk, ASecondAfterAnotherAnswer) {
    const Millis reset = now + 60'000;
    for (const Window& other :
         {Window{9, reset}, Window{11, reset}, Window{10, reset + 5000}, Window{0, 0}}) {
        Millis at = 0;
        WindowRecord record = hammered(at, reset);
        EXPECT_EQ(asked_after(record, at, other), 10'000);
        EXPECT_FALSE(may_ask(record, at + 999)) << other.used;
        EXPECT_TRUE(may_ask(record, at + 1000)) << other.used;
    }
}

TEST(MayAsk, ASecondAfterAnyOtherNews) {
    const Millis reset = now + 60'000;
    const auto expect_reset = [&](auto&& change) {
        Millis at = 0;
        WindowRecord record = hammered(at, reset);
        change(record, at);
        EXPECT_TRUE(may_ask(record, at + 1000)) << at;
    };
    expect_reset([&](WindowRecord& record, Millis at) { learn(record, terms(10, at), {11, reset}); });
    expect_reset([&](WindowRecord& record, Millis at) { send(record, terms(20, at), 1); });
    expect_reset([&](WindowRecord& record, Millis /*at*/) { confirm_refund(record, reset, {9, reset}); });
    expect_reset([&](WindowRecord& record, Millis& at) {
        at = reset;
        learn(record, terms(10, at), {10, reset + 60'000});  // the next window
        heard(record, at);
    });
}

TEST(MayAsk, ANodesAnswerThatSaysNothingNewChangesNothing) {
    const Millis reset = now + 60'000;
    Millis at = 0;
    WindowRecord record = hammered(at, reset);
    learn(record, terms(10, at + 9000), {10, reset});
    heard(record, at + 9000);
    EXPECT_FALSE(may_ask(record, at + 9999));
    EXPECT_TRUE(may_ask(record, at + 10'000))
        << "an answer of a node that may be behind does not postpone the question";
}

TEST(MayAsk, ANodesAnswerIsFreshEnoughForASecond) {
    WindowRecord record = known(10, now + 60'000);
    heard(record, now);
    EXPECT_FALSE(may_ask(record, now + 999));
    EXPECT_TRUE(may_ask(record, now + 1000));
}

TEST(MayAsk, ChargesThatWaitHereAreNothingNew) {
    const Millis reset = now + 60'000;
    WindowRecord record = known(10, reset);
    Millis at = now;
    EXPECT_EQ(asked_after(record, at, {7, reset}, 3), 0);
    EXPECT_EQ(asked_after(record, at, {7, reset}, 3), 2000);
    EXPECT_EQ(asked_after(record, at, {7, reset}, 3), 4000);
}

TEST(MayAsk, OnceASecond) {
    WindowRecord record = known(10, now + 60'000);
    EXPECT_TRUE(may_ask(record, now));
    EXPECT_FALSE(may_ask(record, now + 999));
    EXPECT_TRUE(may_ask(record, now + 1000));
    confirm(record, {}, 1, 60, now + 1500, {10, now + 60'000});
    EXPECT_FALSE(may_ask(record, now + 2499)) << "the primary's answer to a charge counts, too";
    EXPECT_TRUE(may_ask(record, now + 2500));
}

}  // namespace
}  // namespace rate_limit::window_answers_test
