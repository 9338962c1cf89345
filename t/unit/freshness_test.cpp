#include <gtest/gtest.h>

#include "core/limit/clocks.h"
#include "window_terms.h"

namespace rate_limit::freshness_test {
namespace {

constexpr Millis reset = now + 60'000;

/// A window of which the primary has answered one charge at this moment; `used` is what it said.
WindowRecord answered(std::int64_t used, Millis at = now, std::int64_t limit = 1000) {
    WindowRecord record = known(used - 1, reset, limit);
    const Receipt receipt = sent(record, 1, limit);
    confirm(record, receipt, 1, 60, at, {used, reset});
    return record;
}

bool fresh(const WindowRecord& record, Millis at = now, std::int64_t limit = 1000, Millis freshness = 100) {
    return may_stand_for_check(record, terms(limit, at), freshness);
}

TEST(Freshness, AThousandthOfThePeriodASecondAtMost) {
    EXPECT_EQ(default_freshness(1), 1);
    EXPECT_EQ(default_freshness(60), 60);
    EXPECT_EQ(default_freshness(1000), 1000);
    EXPECT_EQ(default_freshness(max_period), 1000);
}

TEST(Freshness, LastsUntilItsTime) {
    const WindowRecord record = answered(10);
    EXPECT_TRUE(fresh(record));
    EXPECT_TRUE(fresh(record, now + 100));
    EXPECT_FALSE(fresh(record, now + 101));
    EXPECT_TRUE(fresh(record, now - clocks_apart)) << "this worker's clock is behind";
    EXPECT_FALSE(fresh(record, now - clocks_apart - 1)) << "the clock went back";
    EXPECT_FALSE(fresh(answered(10, reset - 50), reset, 1000)) << "the window has ended";
}

TEST(Freshness, NeedsATwentiethOfTheLimit) {
    EXPECT_TRUE(fresh(answered(950)));
    EXPECT_FALSE(fresh(answered(951)));
    EXPECT_TRUE(fresh(answered(9, now, 10), now, 10));
    EXPECT_FALSE(fresh(answered(10, now, 10), now, 10));
    WindowRecord record = answered(949);
    EXPECT_TRUE(enter(record, terms(1000)));
    EXPECT_TRUE(fresh(record));
    EXPECT_TRUE(enter(record, terms(1000)));
    EXPECT_FALSE(fresh(record)) << "requests in flight count";
    EXPECT_FALSE(fresh(answered(10), now, 10)) << "of the limit of the request that asks";
}

TEST(Freshness, ComesFromThePrimarysAnswersToChargesAlone) {
    EXPECT_FALSE(fresh(known(10, reset, 1000))) << "a replica's word";
    WindowRecord record = answered(10);
    EXPECT_TRUE(may_ask(record, now + 2000));
    EXPECT_FALSE(fresh(record, now + 2000)) << "a question about a lower limit";
    record = answered(10);
    learn(record, terms(1000), {3, reset + 500});
    EXPECT_FALSE(fresh(record)) << "another window, of which no charge was answered";
}

TEST(Freshness, AnAnswerAboutAnEarlierWindowBringsNone) {
    WindowRecord record = known(10, reset, 1000);
    const Receipt receipt = sent(record, 1);
    learn(record, terms(1000), {3, reset + 500});
    confirm(record, receipt, 1, 60, now, {11, reset});
    EXPECT_FALSE(fresh(record));
}

TEST(Freshness, LetsOneRequestInAHundredCheckWhateverTheRhythm) {
    WindowRecord record = answered(1);
    for (const std::uint32_t step : {1U, 2U, 3U, 4U, 8U, 128U}) {
        for (std::uint32_t start = 0; start < step; ++start) {
            int checks = 0;
            for (std::uint32_t i = 0; i < 2560; ++i) {
                record.events = start + i * step;
                checks += fresh(record) ? 0 : 1;
            }
            EXPECT_GE(checks, 10) << "step " << step << " from " << start;
            EXPECT_LE(checks, 30) << "step " << step << " from " << start;
        }
    }
}

TEST(HasRoom, InAConfirmedWindowWithATwentiethLeft) {
    EXPECT_TRUE(has_room(known(950, reset, 1000), terms(1000), 50));
    EXPECT_FALSE(has_room(known(950, reset, 1000), terms(1000), 51)) << "the cost does not fit";
    EXPECT_FALSE(has_room(known(951, reset, 1000), terms(1000), 1));
    EXPECT_FALSE(has_room(known(10, reset, 1000), terms(1000, reset), 1)) << "it has ended";
    WindowRecord proposed = with_id();
    EXPECT_TRUE(enter(proposed, terms(1000)));
    EXPECT_FALSE(has_room(proposed, terms(1000), 1)) << "nobody has confirmed it";
}

}  // namespace
}  // namespace rate_limit::freshness_test
