#include "core/machine/records/reading.h"

#include <gtest/gtest.h>

#include "core/limit/clocks.h"
#include "core/machine/records.h"
#include "window_terms.h"

namespace rate_limit::reading_test {
namespace {

constexpr Millis patience = 100;
constexpr Window window{7, now + 30'000};

ReadingRecord read_at(Millis at, const Window& answer = window) {
    ReadingRecord record;
    EXPECT_TRUE(begin_reading(record, at, patience));
    end_reading(record, answer, at);
    return record;
}

bool says(const ReadingRecord& record, Millis at, const Window& expected) {
    const auto known = known_reading(record, at);
    return known && known->used == expected.used && known->reset == expected.reset;
}

TEST(Reading, IsKeptForASecond) {
    const ReadingRecord record = read_at(now);
    EXPECT_TRUE(says(record, now, window));
    EXPECT_TRUE(says(record, now + 999, window));
    EXPECT_FALSE(known_reading(record, now + 1000));
    EXPECT_TRUE(says(record, now - clocks_apart, window)) << "of a worker whose clock is behind";
    EXPECT_FALSE(known_reading(record, now - clocks_apart - 1)) << "the clock went back";
}

TEST(Reading, TellsWhateverWasFound) {
    EXPECT_TRUE(says(read_at(now, {0, 0}), now, {0, 0})) << "no window";
    EXPECT_TRUE(says(read_at(now, {most, most}), now, {most, most}));
    EXPECT_TRUE(says(read_at(now, {-1, -1}), now, {-1, -1})) << "nonsense is the reader's to judge";
}

TEST(Reading, OneReadsAndOthersWait) {
    ReadingRecord record;
    EXPECT_FALSE(known_reading(record, now));
    EXPECT_TRUE(begin_reading(record, now, patience));
    EXPECT_FALSE(known_reading(record, now)) << "not before the answer";
    EXPECT_FALSE(begin_reading(record, now, patience));
    EXPECT_FALSE(begin_reading(record, now + 99, patience));
    EXPECT_FALSE(begin_reading(record, now - 1, patience)) << "by a worker whose clock is behind";
    ReadingRecord given_up = record;
    EXPECT_TRUE(begin_reading(record, now + 100, patience)) << "the reader's worker has died";
    give_up_reading(given_up);
    EXPECT_EQ(given_up.reset, 0) << "the table forgets it";
    EXPECT_TRUE(begin_reading(given_up, now, patience));
}

TEST(Reading, ThatIsOldIsReadAnew) {
    ReadingRecord record = read_at(now);
    EXPECT_TRUE(begin_reading(record, now + 1000, patience));
    EXPECT_FALSE(known_reading(record, now + 1000)) << "what was read before counts no more";
    end_reading(record, {8, window.reset}, now + 1010);
    EXPECT_TRUE(says(record, now + 1010, {8, window.reset}));
}

TEST(Reading, GivesWayFirst) {
    const ReadingRecord record = read_at(now);
    EXPECT_TRUE(eviction_rank(record, now) < eviction_rank(known(1, now + 60'000), now));
    EXPECT_EQ(eviction_rank(record, now + 1000).tier, EvictionTier::ended);
    ReadingRecord begun;
    EXPECT_TRUE(begin_reading(begun, now, patience));
    EXPECT_EQ(eviction_rank(begun, now).tier, EvictionTier::copy);
    EXPECT_NE(reading_id_of({1, 2}), (WindowId{1, 2}));
}

TEST(WasTold, ByAnAnswerOrAGrantOfTheLastSecond) {
    WindowRecord record = known(1, now + 60'000, 1000);
    EXPECT_FALSE(was_told(record, now)) << "a replica may have said it";
    const Receipt receipt = sent(record, 1);
    EXPECT_FALSE(was_told(record, now)) << "not answered yet";
    confirm(record, receipt, 1, 60, now, {2, now + 60'000});
    EXPECT_TRUE(was_told(record, now));
    EXPECT_TRUE(was_told(record, now + 999));
    EXPECT_FALSE(was_told(record, now + 1000));

    WindowRecord leased = known(1, now + 60'000, 1000);
    leased.used = 10;
    leased.leased = 5;
    leased.changed = static_cast<std::uint32_t>(now);
    EXPECT_TRUE(was_told(leased, now + 999));
    EXPECT_FALSE(was_told(leased, now + 1000));
    leased.unanswered = 1;
    EXPECT_FALSE(was_told(leased, now)) << "a charge was sent since";
}

}  // namespace
}  // namespace rate_limit::reading_test
