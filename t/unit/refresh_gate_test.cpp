#include "core/topology/refresh_gate.h"

#include <algorithm>
#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace rate_limit::refresh_gate_test {
namespace {

constexpr Millis start = 1'700'000'000'000;
constexpr Pace cluster{15000, 20, 100, 5000};
constexpr Pace sentinel{500, 20, 100, 400};

/// A gate after its first refresh, at `start`.
RefreshGate used(const Pace& pace) {
    RefreshGate gate(pace);
    gate.refreshed(true, start);
    return gate;
}

TEST(RefreshGate, TheFirstRefreshIsDueAtOnce) {
    RefreshGate gate(cluster);
    EXPECT_EQ(gate.next(start, 7), 0);
    EXPECT_EQ(gate.next(0, 7), 0);
}

TEST(RefreshGate, WithoutHintsTheIntervalPasses) {
    for (const auto& [random, interval] :
         {std::pair{0U, 12000}, {3000U, 15000}, {6000U, 18000}, {6001U, 12000}}) {
        RefreshGate gate = used(cluster);
        EXPECT_EQ(gate.next(start, random), interval);
        EXPECT_EQ(gate.next(start + 500, random + 1), interval - 500) << "it is drawn once";
        EXPECT_EQ(gate.next(start + interval, 1), 0);
        EXPECT_EQ(gate.next(start + 2 * interval, 1), 0);
        gate.refreshed(false, start + 20000);
        EXPECT_EQ(gate.next(start + 20000, 1), 12001) << "and again after the next";
    }
    RefreshGate even = used({1000, 0, 10, 10});
    EXPECT_EQ(even.next(start, 12345), 1000);
}

TEST(RefreshGate, AHintActsAtOnceButNotTwiceWithinTheGap) {
    RefreshGate gate = used(cluster);
    gate.hint();
    EXPECT_EQ(gate.next(start, 0), 100);
    EXPECT_EQ(gate.next(start + 99, 0), 1);
    EXPECT_EQ(gate.next(start + 100, 0), 0);
    RefreshGate later = used(cluster);
    EXPECT_EQ(later.next(start + 5000, 0), 7000);
    later.hint();
    later.hint();
    EXPECT_EQ(later.next(start + 5000, 0), 0);
    later.refreshed(true, start + 5000);
    EXPECT_EQ(later.next(start + 5000, 0), 12000) << "all hints are used up";
}

TEST(RefreshGate, TheGapDoublesWhileHintsChangeNothing) {
    RefreshGate gate = used(cluster);
    Millis now = start;
    for (const Millis gap : {100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000}) {
        gate.hint();
        EXPECT_EQ(gate.next(now, 0), gap);
        now += gap;
        gate.refreshed(false, now);
    }
    gate.hint();
    now += 5000;
    gate.refreshed(true, now);
    gate.hint();
    EXPECT_EQ(gate.next(now, 0), 100) << "something changed";
    gate.refreshed(false, now);
    gate.refreshed(false, now + 15000);
    gate.hint();
    EXPECT_EQ(gate.next(now + 15000, 0), 100) << "the hints have stopped for an interval";
}

TEST(RefreshGate, TheIntervalEndsALongGap) {
    RefreshGate gate = used({300, 0, 200, 1000});
    gate.hint();
    gate.refreshed(false, start);
    gate.hint();
    EXPECT_EQ(gate.next(start, 0), 300);
}

TEST(RefreshGate, AClockThatGoesBackMakesNobodyWaitLonger) {
    RefreshGate gate = used(cluster);
    EXPECT_EQ(gate.next(start - 1'000'000, 0), 12000);
    EXPECT_EQ(gate.next(start - 1'000'000 + 12000, 0), 0);
    RefreshGate hinted = used(cluster);
    hinted.hint();
    EXPECT_EQ(hinted.next(start - 1'000'000, 0), 100);
}

/// Compared with a list of all that happened: every millisecond may bring a hint, and a refresh takes place
/// as soon as it is due.
TEST(RefreshGate, IsAsItsWordsSayWhateverHappens) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const Pace& pace = seed % 2 == 0 ? cluster : sentinel;
        std::mt19937 random(seed);
        const unsigned rarity = 1U << random() % 14;
        RefreshGate gate(pace);
        EXPECT_EQ(gate.next(start, 0), 0);
        gate.refreshed(true, start);
        Millis last = start;
        Millis hinted_at = 0;  // since the last refresh; 0: never
        Millis gap = pace.least_gap;
        for (Millis now = start + 1; now < start + 60'000; ++now) {
            if (random() % rarity == 0) {
                gate.hint();
                hinted_at = hinted_at == 0 ? now : hinted_at;
            }
            const Millis wait = gate.next(now, static_cast<std::uint32_t>(random()));
            const Millis least = pace.interval * (100 - pace.jitter_percent) / 100;
            const Millis most = pace.interval * (100 + pace.jitter_percent) / 100;
            ASSERT_LE(now + wait - last, most);
            if (hinted_at == 0) {
                ASSERT_GE(now + wait - last, least);
                ASSERT_TRUE(wait > 0 || now - last >= least);
            } else {
                ASSERT_LE(now + wait, std::max(now, last + gap)) << "a hint waits for the gap only";
                ASSERT_GE(now + wait, std::min(last + gap, last + least)) << "but for that it does";
            }
            if (wait == 0) {
                const bool useful = random() % 8 == 0;
                gate.refreshed(useful, now);
                gap = useful || hinted_at == 0 ? pace.least_gap : std::min(2 * gap, pace.most_gap);
                last = now;
                hinted_at = 0;
            }
        }
    }
}

}  // namespace
}  // namespace rate_limit::refresh_gate_test
