#include "core/limit/clocks.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "core/bucket/bucket_account.h"
#include "core/machine/records.h"
#include "core/machine/windows/window_account.h"
#include "core/slots/slots_account.h"

namespace rate_limit::clocks_test {
namespace {

constexpr Millis now = 1'700'000'000'123;

TEST(Clocks, SayHowLongAgoThatIsOfWhichTheLowHalfIsKept) {
    for (const Millis at : {now, Millis{0xffff'fff0}, Millis{1} << 32}) {
        const auto low = static_cast<std::uint32_t>(at);
        EXPECT_EQ(since(low, at), 0);
        EXPECT_EQ(since(low, at + 1), 1);
        EXPECT_EQ(since(low, at + 4'000'000'000), 4'000'000'000);
        EXPECT_EQ(since(low, at - 1), 0) << "another worker's clock is ahead";
        EXPECT_EQ(since(low, at - clocks_apart), 0);
        EXPECT_GT(since(low, at - clocks_apart - 1), 4'000'000'000) << "the clock was set back";
    }
}

TEST(Clocks, AreSetBackWhereTheyAreMoreThanApart) {
    EXPECT_FALSE(is_set_back(now - 1, now));
    EXPECT_FALSE(is_set_back(now + clocks_apart, now));
    EXPECT_TRUE(is_set_back(now + clocks_apart + 1, now));
}

constexpr Terms terms{{1000, 3600}, Truth::redis, now + 3'600'000, now};

WindowRecord answered_window() {
    WindowRecord record;
    learn(record, terms, {10, now + 3'600'000}, 0);
    record.events = 2;
    return record;
}

/// A fact that one worker notes at `now`, and that another worker, whose clock is behind, believes or not.
struct Known {
    const char* what;
    std::function<bool(Millis at)> believed;
};

class WorkersWhoseClocksAreApart : public testing::TestWithParam<Known> {};

TEST_P(WorkersWhoseClocksAreApart, BelieveOneAnother) {
    for (const Millis behind : {0, 1, 20, 1000}) {
        EXPECT_TRUE(GetParam().believed(now - behind)) << behind << " ms behind";
    }
    EXPECT_FALSE(GetParam().believed(now - 1001)) << "the clock was set back";
}

SlotsRecord with_slots(std::int64_t slots) {
    SlotsRecord record;
    const SlotsTerms terms{100, Truth::redis, 30'000, 100, now};
    const SlotsEntry entry = enter(record, terms);
    learn(record, terms, entry.call, {slots, 0, entry.call.number});
    return record;
}

INSTANTIATE_TEST_SUITE_P(
    Each, WorkersWhoseClocksAreApart,
    testing::Values(
        Known{"slots_are_held",
              [](Millis at) {
                  return held(with_slots(8), {100, Truth::redis, 30'000, 100, at}) == 8;
              }},
        Known{"a_call_of_slots_is_under_way",
              [](Millis at) {
                  SlotsRecord record;
                  (void)enter(record, {100, Truth::redis, 30'000, 100, now});
                  return enter(record, {100, Truth::redis, 30'000, 100, at}).outcome == SlotsOutcome::wait;
              }},
        Known{"a_window_was_told",
              [](Millis at) {
                  WindowRecord record = answered_window();
                  record.confirmed = true;
                  record.answered = true;
                  record.asked_or_told = static_cast<std::uint32_t>(now);
                  return was_told(record, at);
              }},
        Known{"a_window_is_not_asked_again",
              [](Millis at) {
                  WindowRecord record = answered_window();
                  (void)may_ask(record, now);
                  return !may_ask(record, at);
              }},
        Known{"a_bucket_was_told",
              [](Millis at) {
                  BucketRecord record;
                  learn_bucket(record, nanos_of(1000), now, nanos_of(now + 10));
                  record.confirmed = true;
                  return was_told(record, at) && !is_to_be_asked(record, at);
              }}),
    [](const auto& known) { return std::string(known.param.what); });

/// The time at which a charge was sent is not known: the charge may be on its way for as long again.
TEST(ClockSetBack, LeavesChargesOnTheirWay) {
    constexpr Millis patience = 5'000;
    for (const Millis back : {Millis{0}, clocks_apart, clocks_apart + 1, Millis{7'000}, Millis{3'600'000}}) {
        WindowRecord record = answered_window();
        resend(record, now);
        record.unanswered = 1;
        const Millis since_then = now - back;
        EXPECT_TRUE(is_on_its_way(record, since_then, patience)) << back;
        EXPECT_TRUE(is_on_its_way(record, since_then + patience, patience)) << back;
        EXPECT_FALSE(is_on_its_way(record, since_then + clocks_apart + patience + 1, patience)) << back;
        record.unanswered = 0;
        EXPECT_FALSE(is_on_its_way(record, since_then, patience)) << back;
    }
}

}  // namespace
}  // namespace rate_limit::clocks_test
