#include <gtest/gtest.h>

#include "core/machine/windows/window_account.h"
#include "window_terms.h"

namespace rate_limit::given_back_test {
namespace {

TEST(TakeGivenBack, TakesLessOfTheSameWindow) {
    WindowRecord record = known(9, now + 1000);
    take_given_back(record, terms(10), {7, now + 1000}, false, 0);
    EXPECT_EQ(state_of(record), "7 of 10 until +1000");
    take_given_back(record, terms(10), {0, now + 1000}, true, 0);
    EXPECT_EQ(state_of(record), "0 of 10 until +1000") << "the window stays";
    EXPECT_TRUE(may_stand_for_check(record, terms(10), 1000) || has_check_turn(record))
        << "the primary has just told: no replica need be asked";
}

TEST(TakeGivenBack, CountsWhatWaitsHere) {
    WindowRecord record = known(9, now + 1000);
    take_given_back(record, terms(10), {2, now + 1000}, false, 3);
    EXPECT_EQ(state_of(record), "5 of 10 until +1000");
}

TEST(TakeGivenBack, LeavesTokensOfAPartAndNoneOfAll) {
    WindowRecord record = known(50, now + 1000, 100);
    record.leased = 20;
    take_given_back(record, terms(100), {40, now + 1000}, false, 0);
    EXPECT_EQ(state_of(record), "40 of 100 until +1000, 20 tokens");
    take_given_back(record, terms(100), {15, now + 1000}, false, 0);
    EXPECT_EQ(state_of(record), "15 of 100 until +1000, 15 tokens") << "no more than Redis counts";
    record.lasting = true;
    take_given_back(record, terms(100), {0, now + 1000}, true, 0);
    EXPECT_EQ(state_of(record), "0 of 100 until +1000");
    EXPECT_FALSE(record.lasting) << "a refund can empty it";
}

TEST(TakeGivenBack, LeavesRequestsThatRun) {
    WindowRecord record = known(9, now + 1000);
    ASSERT_TRUE(enter(record, terms(10)));
    const Ticket ticket = record.ticket;
    take_given_back(record, terms(10), {0, now + 1000}, true, 0);
    EXPECT_EQ(state_of(record), "0 of 10 until +1000, 1 in flight");
    leave(record, ticket);
    EXPECT_EQ(state_of(record), "0 of 10 until +1000");
}

TEST(TakeGivenBack, OpensWhatWasNotKnown) {
    WindowRecord record = with_id();
    take_given_back(record, terms(10), {3, now + 1000}, false, 0);
    EXPECT_EQ(state_of(record), "3 of 10 until +1000");
    take_given_back(record, terms(10, now + 2000), {1, now + 3000}, false, 0);
    EXPECT_EQ(state_of(record), "1 of 10 until +3000") << "the one before has ended";
}

TEST(TakeGivenBack, ForgetsAWindowThatIsGone) {
    WindowRecord record = known(9, now + 1000);
    take_given_back(record, terms(10), {0, 0}, true, 0);
    EXPECT_EQ(record.reset, 0);
    record = known(9, now + 1000);
    ASSERT_TRUE(enter(record, terms(10)));
    take_given_back(record, terms(10), {0, 0}, true, 0);
    EXPECT_EQ(state_of(record), "0 of 10 until +1000, proposed, 1 in flight");
}

TEST(TakeGivenBack, MakesEarlierQuestionsOld) {
    WindowRecord record = known(9, now + 1000);
    const Question before = question(record.events);
    take_given_back(record, terms(10), {4, now + 1000}, false, 0);
    replace(record, terms(10), {2, now + 1000}, before);
    EXPECT_EQ(record.used, 4) << "an answer to an earlier question does not lower it";
}

TEST(GiveBackLocal, GivesBackWhatIsUsedAndNoMore) {
    WindowRecord record = with_id();
    Terms local = terms(10);
    local.truth = Truth::local;
    charge(record, local, 8);
    give_back_local(record, 3);
    EXPECT_EQ(state_of(record), "5 of 10 until +60000, local");
    give_back_local(record, most);
    EXPECT_EQ(state_of(record), "0 of 10 until +60000, local") << "the window stays";
    give_back_local(record, 1);
    EXPECT_EQ(record.used, 0);
}

}  // namespace
}  // namespace rate_limit::given_back_test
