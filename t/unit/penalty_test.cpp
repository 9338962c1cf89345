// A machine's record of a penalty, the questions to Redis about it, and which of its answers are believed.

#include "core/machine/records/penalty.h"

#include <gtest/gtest.h>

#include <string>

#include "raw_reply.h"
#include "redis/command.h"
#include "redis/script_reply.h"

namespace rate_limit::penalty_test {
namespace {

constexpr Millis now = 1'800'000'000'000;

TEST(Penalty, RunsUntilItsEnd) {
    PenaltyRecord record;
    EXPECT_FALSE(runs(record, now));
    EXPECT_TRUE(begin_penalty(record, Truth::redis, now, 5'000));
    EXPECT_FALSE(begin_penalty(record, Truth::redis, now + 4'999, 5'000)) << "one runs";
    EXPECT_TRUE(runs(record, now + 4'999));
    EXPECT_FALSE(runs(record, now + 5'000));
    EXPECT_GE(record.reset, record.until);
}

TEST(Penalty, IsTheStoresWhereThatHasAnother) {
    PenaltyRecord record;
    begin_penalty(record, Truth::redis, now, 5'000);
    learn_penalty(record, now + 9'000, now);
    EXPECT_EQ(record.until, now + 5'000) << "an answer from before it began";
    confirm_penalty(record, now + 3'000, false, now);
    EXPECT_EQ(record.until, now + 3'000) << "began there earlier";
    confirm_penalty(record, 0, false, now);
    EXPECT_EQ(record.until, now + 3'000) << "the store has lost it";
    confirm_penalty(record, 0, true, now);
    EXPECT_FALSE(runs(record, now)) << "an operator has ended it";
    confirm_penalty(record, now + 3'000, false, now);
    EXPECT_FALSE(runs(record, now)) << "an answer from before that";
}

TEST(Penalty, IsAskedAboutNowAndThen) {
    PenaltyRecord record;
    begin_penalty(record, Truth::redis, now, 500'000);
    EXPECT_FALSE(takes_turn(record, now + 999));
    EXPECT_TRUE(takes_turn(record, now + 1'000)) << "the store may not have it";
    EXPECT_FALSE(takes_turn(record, now + 1'001));
    confirm_penalty(record, now + 500'000, false, now + 1'000);
    EXPECT_FALSE(takes_turn(record, now + 10'999));
    EXPECT_TRUE(takes_turn(record, now + 11'000));
    EXPECT_TRUE(takes_turn(record, now)) << "the clock was set back";
    PenaltyRecord local;
    begin_penalty(local, Truth::local, now, 500'000);
    EXPECT_FALSE(takes_turn(local, now + 100'000)) << "there is nobody to ask";
}

TEST(Penalty, IsKnownNotToRunForAWhile) {
    PenaltyRecord record;
    EXPECT_FALSE(is_known_free(record, now, 1'000));
    note_free(record, now);
    EXPECT_TRUE(is_known_free(record, now + 1'000, 1'000));
    EXPECT_FALSE(is_known_free(record, now + 1'001, 1'000));
    EXPECT_FALSE(is_known_free(record, now - 2'000, 1'000)) << "the clock was set back";
    learn_penalty(record, now + 500, now);
    EXPECT_FALSE(is_known_free(record, now + 100, 1'000));
}

TEST(Penalty, CountsWhatIsPendingOfOneWindow) {
    PenaltyRecord record;
    hold(record, 7, now + 1'000, 3);
    hold(record, 7, now + 1'000, 2);
    EXPECT_EQ(record.pending, 5);
    release(record, 6, 1, 0, now);
    EXPECT_EQ(record.pending, 5) << "another window's";
    release(record, 7, 9, 0, now);
    EXPECT_EQ(record.pending, 0);
    EXPECT_EQ(may_be_free(record, 7, now), 0);
    hold(record, 7, now, 3);
    hold(record, 8, now, 1);
    EXPECT_EQ(record.pending, 1);
}

TEST(Penalty, RemembersForAWhileWhatWasGivenBack) {
    PenaltyRecord record;
    hold(record, 7, now + 60'000, 5);
    EXPECT_EQ(may_be_free(record, 7, now), 5);
    EXPECT_EQ(may_be_free(record, 8, now), 0);
    release(record, 7, 3, 2, now);
    release(record, 7, 2, 2, now + 400);
    EXPECT_EQ(may_be_free(record, 7, now + 400), 4) << "one was charged";
    EXPECT_EQ(may_be_free(record, 8, now + 450), 4) << "also in the next window";
    EXPECT_EQ(may_be_free(record, 7, now + 6'000), 0);
    release(record, 7, 0, 1, now + 6'000);
    EXPECT_EQ(may_be_free(record, 7, now + 6'000), 1);
    EXPECT_EQ(may_be_free(record, 7, now), 0) << "a clock that was set back";
}

ToldPenalty told(const std::string& bytes, Fault expected = Fault::none) {
    const RawReply reply(bytes);
    ToldPenalty told;
    EXPECT_EQ(read_penalty(*reply, now, told), expected) << bytes;
    return told;
}

ToldPenalty checked(const std::string& bytes, Fault expected = Fault::none) {
    const RawReply reply(bytes);
    ToldPenalty told;
    EXPECT_EQ(read_penalty_check(*reply, now, told), expected) << bytes;
    return told;
}

TEST(Penalty, IsReadFromItsScript) {
    EXPECT_EQ(told("*2\r\n:5000\r\n:0\r\n").until, now + 5'000);
    EXPECT_EQ(told("*2\r\n:0\r\n:0\r\n").until, 0);
    EXPECT_FALSE(told("*2\r\n:0\r\n:0\r\n").ended);
    EXPECT_TRUE(told("*2\r\n:0\r\n:1\r\n").ended);
    for (const char* bad :
         {"*2\r\n:-1\r\n:0\r\n", "*2\r\n:99999999999999\r\n:0\r\n", "*1\r\n:1\r\n", ":1\r\n"}) {
        EXPECT_EQ(told(bad, Fault::malformed).until, 0);
    }
}

TEST(Penalty, IsReadFromAWindow) {
    EXPECT_EQ(checked("*1\r\n$13\r\n1800000005000\r\n").until, now + 5'000);
    EXPECT_EQ(checked("*1\r\n$13\r\n1800000000000\r\n").until, 0) << "it has ended";
    EXPECT_EQ(checked("*1\r\n$13\r\n9800000005000\r\n").until, 0) << "a clock was wrong";
    EXPECT_EQ(checked("*1\r\n$-1\r\n").until, 0);
    EXPECT_FALSE(checked("*1\r\n$-1\r\n").ended);
    EXPECT_TRUE(checked("*1\r\n$1\r\n0\r\n").ended);
    EXPECT_EQ(checked("*1\r\n$3\r\nnan\r\n").until, 0);
    EXPECT_EQ(checked("-WRONGTYPE x\r\n").until, 0);
    EXPECT_EQ(checked("*2\r\n:1\r\n:1\r\n", Fault::malformed).until, 0);
}

TEST(Penalty, IsAskedForByTheTimeOfMachineOrServer) {
    CommandWriter writer;
    writer.tell_time(1'700'000'000'000'042);
    const std::string window(writer.penalty("k", {false, 5, 60'000}));
    EXPECT_NE(window.find("$6\r\nwindow\r\n$5\r\n60000\r\n$1\r\n5\r\n"), std::string::npos) << window;
    EXPECT_EQ(window.find("1700000000"), std::string::npos);
    const std::string bucket(writer.penalty("k", {true, 0, ends_penalty}));
    EXPECT_NE(bucket.find("$6\r\nbucket\r\n$2\r\n-1\r\n$1\r\n0\r\n$10\r\n1700000000\r\n$2\r\n42\r\n"),
              std::string::npos)
        << bucket;
}

}  // namespace
}  // namespace rate_limit::penalty_test
