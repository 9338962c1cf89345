#include "core/slots/slots_account.h"

#include <gtest/gtest.h>

#include "core/machine/records.h"
namespace rate_limit::slots_account_test {
namespace {

constexpr Millis start_time = 1'700'000'000'123;

/// One machine's record of one key, and a Redis that answers when the test says so.
class SlotsAccount : public testing::Test {
protected:
    SlotsTerms terms() const { return {limit, truth, 30'000, 100, now}; }

    SlotsOutcome come() {
        const SlotsEntry entry = enter(record, terms());
        call = entry.outcome == SlotsOutcome::ask ? entry.call : call;
        return entry.outcome;
    }
    void answer(std::int64_t held, std::int64_t others = 0) {
        learn(record, terms(), call, {held, others, call.number});
    }
    bool calls() {
        const auto found = due(record, terms());
        call = found ? *found : call;
        return found.has_value();
    }
    /// This many requests run with a slot each, and no more slots are held.
    void run(std::int64_t requests, std::int64_t others = 0) {
        while (running(record) < requests) {
            if (come() == SlotsOutcome::ask) {
                answer(requests, others);
            }
        }
    }
    void go(std::int64_t requests) {
        for (std::int64_t i = 0; i < requests; ++i) {
            leave(record, terms());
        }
    }

    SlotsRecord record;
    std::int64_t limit = 20;
    Truth truth = Truth::redis;
    Millis now = start_time;
    SlotsCall call;
};

TEST_F(SlotsAccount, TheFirstRequestAsksAndTheNextTakesWhatIsHeld) {
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(call.want, 1);
    EXPECT_EQ(call.least, 1);
    EXPECT_EQ(call.sent, now);
    answer(1);
    EXPECT_EQ(come(), SlotsOutcome::admitted);
    go(1);
    now += 900;
    EXPECT_EQ(come(), SlotsOutcome::admitted) << "the slot stayed here";
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(call.want, 2);
    EXPECT_EQ(call.least, 2);
}

TEST_F(SlotsAccount, OneCallAtATimeWhichAsksForAllThatWait) {
    EXPECT_EQ(come(), SlotsOutcome::ask);
    for (int i = 0; i < 9; ++i) {
        EXPECT_EQ(come(), SlotsOutcome::wait);
    }
    answer(1);
    EXPECT_EQ(come(), SlotsOutcome::admitted);
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(call.want, 11) << "ten, and one spare";
    EXPECT_EQ(come(), SlotsOutcome::wait);
    answer(11);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(come(), SlotsOutcome::admitted);
    }
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(call.want, 13) << "those who waited have what they wanted";
}

TEST_F(SlotsAccount, WhoWaitsInVainIsNotAskedFor) {
    for (const std::int64_t got : {1, 0}) {
        record = {};
        come();
        for (int i = 0; i < 9; ++i) {
            EXPECT_EQ(come(), SlotsOutcome::wait);
        }
        answer(got, 20 - got);
        EXPECT_EQ(come(), got != 0 ? SlotsOutcome::admitted : SlotsOutcome::rejected);
        EXPECT_EQ(come(), SlotsOutcome::rejected);
        now += slots_pause;
        EXPECT_EQ(come(), SlotsOutcome::ask);
        EXPECT_EQ(call.want, got + 1);
    }
}

TEST_F(SlotsAccount, ACallThatTakesTooLongMakesWayForTheNext) {
    EXPECT_EQ(come(), SlotsOutcome::ask);
    const SlotsCall first = call;
    now += 99;
    EXPECT_EQ(come(), SlotsOutcome::wait);
    now += 1;
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_GT(call.number, first.number);
    learn(record, terms(), first, {1, 0, first.number});
    EXPECT_EQ(come(), SlotsOutcome::wait) << "an answer that comes late is ignored";
    give_up(record, terms(), first);
    EXPECT_EQ(come(), SlotsOutcome::wait) << "so is its failure";
    answer(2);
    EXPECT_EQ(come(), SlotsOutcome::admitted);
}

TEST_F(SlotsAccount, AFailedCallIsRepeated) {
    run(3);
    EXPECT_EQ(come(), SlotsOutcome::ask);
    give_up(record, terms(), call);
    EXPECT_FALSE(calls());
    EXPECT_EQ(next_due(record, terms()), now + idle_time);
    now += idle_time;
    const std::int64_t before = call.number;
    ASSERT_TRUE(calls());
    EXPECT_GT(call.number, before);
    EXPECT_EQ(call.want, 3);
    answer(3);
    EXPECT_FALSE(calls());
    now += idle_time;
    EXPECT_FALSE(calls());
}

TEST_F(SlotsAccount, NumbersGrowAlsoWhenTheClockGoesBack) {
    come();
    const std::int64_t first = call.number;
    EXPECT_GE(first, now);
    give_up(record, terms(), call);
    now -= 10'000;
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(call.number, first + 1);
}

TEST_F(SlotsAccount, GoesOnFromTheNumberThatStands) {
    come();
    learn(record, terms(), call, {5, 3, call.number + 1000});
    EXPECT_EQ(held(record, terms()), 0) << "slots of a call that this machine does not know";
    const std::int64_t stands = call.number + 1000;
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(call.number, stands + 1);
    answer(1, 3);
    EXPECT_EQ(come(), SlotsOutcome::admitted);
}

TEST_F(SlotsAccount, AsksRarelyWhileTheLimitIsReached) {
    run(5);
    EXPECT_EQ(come(), SlotsOutcome::ask);
    answer(5, 15);
    EXPECT_EQ(come(), SlotsOutcome::rejected);
    EXPECT_EQ(remaining(record, terms()), 0);
    now += slots_pause - 1;
    EXPECT_EQ(come(), SlotsOutcome::rejected);
    now += 1;
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(come(), SlotsOutcome::rejected) << "also while that call is under way";
    answer(6, 10);
    EXPECT_EQ(come(), SlotsOutcome::admitted);
    EXPECT_EQ(remaining(record, terms()), 4);
}

TEST_F(SlotsAccount, WhatIsKnownFromBeforeAFailureRejectsNobody) {
    run(5);
    EXPECT_EQ(come(), SlotsOutcome::ask);
    answer(5, 15);
    now += slots_pause;
    EXPECT_EQ(come(), SlotsOutcome::ask);
    give_up(record, terms(), call);
    EXPECT_EQ(come(), SlotsOutcome::ask);
}

TEST_F(SlotsAccount, LimitsOfDifferentHeightAreEachDecidedForItself) {
    limit = 1000;
    run(80, 700);
    now += 500;
    limit = 800;
    EXPECT_EQ(come(), SlotsOutcome::ask);
    learn(record, terms(), call, {110, 700, call.number});
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(come(), SlotsOutcome::admitted);
    }
    EXPECT_EQ(come(), SlotsOutcome::rejected);
    limit = 1000;
    EXPECT_EQ(come(), SlotsOutcome::admitted);
    limit = 800;
    now += slots_pause;
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(call.want, 110) << "a lower limit takes no slots from a higher one";
}

TEST_F(SlotsAccount, LargeLimitsHaveSpareSlots) {
    limit = 10'000;
    run(800);
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(call.want, 801 + 100);
    answer(901, 9000);
    EXPECT_EQ(come(), SlotsOutcome::admitted);
    while (running(record) < 901) {
        EXPECT_EQ(come(), SlotsOutcome::admitted);
    }
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(call.want, 902 + (10'000 - 9000 - 902) / 4);
    answer(call.want, 9000);
    EXPECT_FALSE(calls());
}

TEST_F(SlotsAccount, IdleSlotsGoBackAfterASecond) {
    limit = 100;
    run(10);
    now += 5000;
    go(4);
    EXPECT_FALSE(calls());
    EXPECT_EQ(next_due(record, terms()), now + idle_time);
    now += idle_time - 1;
    EXPECT_FALSE(calls());
    now += 1;
    ASSERT_TRUE(calls());
    EXPECT_EQ(call.want, 6);
    EXPECT_EQ(call.least, 7);
    EXPECT_EQ(held(record, terms()), 6) << "fewer first here";
    EXPECT_EQ(come(), SlotsOutcome::wait);
    answer(6);
    EXPECT_EQ(come(), SlotsOutcome::ask);
}

TEST_F(SlotsAccount, ASlotThatIsNeededAgainStaysForAnotherSecond) {
    limit = 100;
    run(5);
    for (int i = 0; i < 5; ++i) {
        go(1);
        now += 700;
        EXPECT_FALSE(calls());
        EXPECT_EQ(come(), SlotsOutcome::admitted);
    }
}

TEST_F(SlotsAccount, SlotsGoBackAtOnceWhenTheyAreScarce) {
    run(5, 10);
    now += slots_pause;
    go(1);
    ASSERT_TRUE(calls());
    EXPECT_EQ(call.want, 4);
    answer(4, 10);
    now += 10;
    go(1);
    EXPECT_FALSE(calls()) << "14 of 20 are fewer than three quarters";
    limit = 18;
    EXPECT_FALSE(calls()) << "the last call was a moment ago";
    EXPECT_EQ(next_due(record, terms()), now - 10 + slots_pause);
    now += slots_pause - 10;
    EXPECT_TRUE(calls());
}

TEST_F(SlotsAccount, AllSlotsGoBackAndTheRecordEnds) {
    run(1);
    go(1);
    now += idle_time;
    ASSERT_TRUE(calls());
    EXPECT_EQ(call.want, 0);
    EXPECT_EQ(call.least, 1);
    EXPECT_GE(record.reset, now + 30'000) << "the call may not be answered";
    answer(0);
    EXPECT_EQ(next_due(record, terms()), never_due);
    now += idle_time;
    EXPECT_EQ(eviction_rank(record, now).tier, EvictionTier::ended);
}

TEST_F(SlotsAccount, AReleaseLeavesItsNumberWhereAnEarlierCallMayComeLate) {
    run(1);
    EXPECT_EQ(come(), SlotsOutcome::ask);
    give_up(record, terms(), call);
    go(1);
    now += idle_time;
    ASSERT_TRUE(calls());
    EXPECT_EQ(call.want, 0);
    EXPECT_EQ(call.least, 0);
    answer(0);
    EXPECT_GE(record.reset, now + 30'000) << "and it stays the last number";
    EXPECT_FALSE(calls());
    EXPECT_EQ(come(), SlotsOutcome::ask);
    EXPECT_EQ(call.want, 1);
    EXPECT_EQ(call.least, 0) << "this one may bring no slots";
}

TEST_F(SlotsAccount, HeldSlotsAreRenewed) {
    limit = 100;
    run(3);
    EXPECT_EQ(next_due(record, terms()), now + 15'000);
    now += 14'999;
    EXPECT_FALSE(calls());
    now += 1;
    ASSERT_TRUE(calls());
    EXPECT_EQ(call.want, 3);
    EXPECT_FALSE(calls()) << "one call at a time";
    answer(3);
    EXPECT_EQ(next_due(record, terms()), now + 15'000);
}

TEST_F(SlotsAccount, SlotsLapseAsCountedFromBeforeTheCall) {
    EXPECT_EQ(come(), SlotsOutcome::ask);
    now += 90;
    answer(2);
    EXPECT_EQ(come(), SlotsOutcome::admitted);
    now = start_time + 29'999;
    EXPECT_EQ(held(record, terms()), 2);
    EXPECT_EQ(come(), SlotsOutcome::admitted);
    go(1);
    now += 1;
    EXPECT_EQ(held(record, terms()), 0);
    EXPECT_EQ(come(), SlotsOutcome::ask) << "what lapsed is not taken";
    EXPECT_EQ(call.least, 2) << "what runs, runs";
    EXPECT_EQ(eviction_rank(record, now).tier, EvictionTier::never);
    give_up(record, terms(), call);
    now += idle_time;
    ASSERT_TRUE(calls()) << "until Redis knows of it";
    EXPECT_EQ(call.want, 1);
    answer(1);
    EXPECT_EQ(held(record, terms()), 1);
}

TEST_F(SlotsAccount, AClockThatGoesBackEndsWhatIsHeld) {
    run(2);
    go(1);
    now -= 10'000;
    EXPECT_EQ(held(record, terms()), 0);
    EXPECT_EQ(come(), SlotsOutcome::ask);
}

TEST_F(SlotsAccount, RecordsOfRunningRequestsAreNeverEvicted) {
    run(2);
    EXPECT_EQ(eviction_rank(record, now + 1'000'000'000).tier, EvictionTier::never);
    go(2);
    EXPECT_EQ(eviction_rank(record, now).tier, EvictionTier::lease);
    EXPECT_EQ(eviction_rank(record, now + 30'000).tier, EvictionTier::ended);
}

TEST_F(SlotsAccount, AWorkersDeathFreesTheCallAndTheSlots) {
    run(10);
    EXPECT_EQ(come(), SlotsOutcome::ask);
    now += 60;
    EXPECT_EQ(come(), SlotsOutcome::wait);
    correct(record, terms(), 3, 1);
    EXPECT_EQ(running(record), 3);
    ASSERT_TRUE(calls()) << "at once";
    EXPECT_GT(next_due(record, terms()), now);
}

TEST_F(SlotsAccount, AFailoverThatLostWritesIsHealedByTheNextCall) {
    run(10);
    now += 15'000;
    ASSERT_TRUE(calls());
    answer(10, 15);
    EXPECT_EQ(come(), SlotsOutcome::rejected);
    go(4);
    EXPECT_EQ(come(), SlotsOutcome::rejected) << "others have what this machine had";
    now += slots_pause;
    ASSERT_TRUE(calls());
    EXPECT_EQ(call.want, 6);
}

TEST_F(SlotsAccount, ALimitOfNothingRejectsWithoutACall) {
    limit = 0;
    EXPECT_EQ(come(), SlotsOutcome::rejected);
    EXPECT_EQ(record.reset, 0) << "and leaves no record";
    EXPECT_EQ(next_due(record, terms()), never_due);
}

TEST_F(SlotsAccount, RequestsThatPassWithoutRedisAreCounted) {
    for (int i = 0; i < 25; ++i) {
        EXPECT_TRUE(enter_anyway(record, terms()));
    }
    EXPECT_EQ(running(record), 25);
    ASSERT_TRUE(calls());
    EXPECT_EQ(call.want, 25);
    EXPECT_EQ(call.least, 26);
    answer(25);
    EXPECT_EQ(come(), SlotsOutcome::rejected);
    go(25);
    EXPECT_EQ(running(record), 0);
}

TEST_F(SlotsAccount, AStoreOfThisMachineAloneNeedsNoCalls) {
    truth = Truth::local;
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(come(), SlotsOutcome::admitted);
    }
    EXPECT_EQ(come(), SlotsOutcome::rejected);
    EXPECT_EQ(remaining(record, terms()), 0);
    EXPECT_EQ(next_due(record, terms()), never_due);
    now += 100'000'000;
    EXPECT_FALSE(calls());
    EXPECT_EQ(eviction_rank(record, now).tier, EvictionTier::never);
    go(1);
    EXPECT_EQ(remaining(record, terms()), 1);
    EXPECT_EQ(come(), SlotsOutcome::admitted);
    go(20);
    EXPECT_EQ(record.reset, now + idle_time) << "the record soon ends after the last request";
    EXPECT_EQ(eviction_rank(record, now).tier, EvictionTier::copy) << "and makes room before that";
    go(1);
    EXPECT_EQ(running(record), 0) << "never below";
}

TEST_F(SlotsAccount, LocalAfterAnErrorCountsOnTheSameRecord) {
    run(12, 5);
    truth = Truth::local;
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(come(), SlotsOutcome::admitted);
    }
    EXPECT_EQ(come(), SlotsOutcome::rejected);
    truth = Truth::redis;
    now += idle_time;  // Redis is back
    ASSERT_TRUE(calls());
    EXPECT_EQ(call.want, 20);
}

TEST_F(SlotsAccount, ARequestThatMayNotAskChangesNothing) {
    limit = 2;
    const SlotsRecord before = record;
    EXPECT_EQ(enter(record, terms(), Asking::later).outcome, SlotsOutcome::ask);
    EXPECT_EQ(record, before);
    EXPECT_EQ(come(), SlotsOutcome::ask);
    const SlotsRecord asked = record;
    EXPECT_EQ(enter(record, terms(), Asking::later).outcome, SlotsOutcome::wait);
    EXPECT_EQ(record, asked);
    answer(1, 1);
    EXPECT_EQ(enter(record, terms(), Asking::later).outcome, SlotsOutcome::admitted);
    const SlotsEntry entry = enter(record, terms(), Asking::later);
    EXPECT_EQ(entry.outcome, SlotsOutcome::rejected);
    EXPECT_EQ(entry.used, 2);
}

TEST_F(SlotsAccount, IdleSlotsOfALeavingMachineGoBackAtOnce) {
    limit = 100;
    run(3);
    go(2);
    EXPECT_FALSE(due(record, terms())) << "the next request may take them";
    const auto back = due(record, terms(), IdleSlots::go_back);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->want, 1);
    EXPECT_FALSE(due(record, terms(), IdleSlots::go_back)) << "a call is under way";
    learn(record, terms(), *back, {1, 0, back->number});
    EXPECT_FALSE(due(record, terms(), IdleSlots::go_back)) << "a request runs";
}

}  // namespace
}  // namespace rate_limit::slots_account_test
