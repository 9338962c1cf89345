// Machines that share a limit of running requests, in simulated time: whatever is lost, comes late or dies,
// no more run than may, and no slot is lost for longer than its time.

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "slots_model.h"

namespace rate_limit::slots_simulation_test {
namespace {

constexpr Millis second = 1000;

/// Once all requests have ended and calls are answered, nobody holds anything, and a newcomer gets all.
void expect_nothing_held(SlotsModel& model, std::int64_t limit) {
    model.run(model.longest + 2 * SlotsModel::ttl, 0);
    EXPECT_EQ(model.running_now(), 0);
    EXPECT_TRUE(model.counts_are_right());
    EXPECT_EQ(model.redis.valid(model.now + 12'345), 0);
    EXPECT_EQ(model.redis.ask(-1, {1, limit, limit, 1, SlotsModel::ttl, 0}, model.now + 12'345).held, limit);
}

TEST(SlotsSimulation, NeverMoreThanTheLimitWhateverIsLostOrDies) {
    const Faults faults{0.03, 0.03, 0.03, 0.002, 0.00004, 0};
    for (const std::int64_t limit : {1, 7, 40, 300}) {
        for (unsigned seed = 1; seed <= 4; ++seed) {
            SlotsModel model(seed, limit, 5, 3, faults);
            std::int64_t most = 0;
            bool right = true;
            model.run(60 * second, static_cast<double>(limit) / 500, [&] {
                most = std::max(most, model.running_now());
                right = right && model.redis.valid(model.now + 12'345) <= limit;
            });
            EXPECT_LE(most, limit) << "seed " << seed;
            EXPECT_GE(most, limit * 9 / 10) << "nearly all of it is used, limit " << limit;
            EXPECT_TRUE(right) << "nor are more slots held, limit " << limit << ", seed " << seed;
            expect_nothing_held(model, limit);
        }
    }
}

TEST(SlotsSimulation, AFailoverThatLosesWritesIsHealedInHalfTheTime) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        SlotsModel model(seed, 40, 5, 3, {0.01, 0.01, 0.01, 0.001, 0, 0.00003});
        bool right = true;
        std::int64_t over = 0;
        model.run(120 * second, 0.04, [&] {
            const bool healed =
                model.failed_over == 0 ||
                model.now - model.failed_over > SlotsModel::ttl / 2 + 3 * idle_time + model.longest;
            right = right && (!healed || model.running_now() <= 40);
            over = std::max(over, model.running_now() - 40);
        });
        EXPECT_TRUE(right) << "seed " << seed;
        EXPECT_LE(over, 40);
        expect_nothing_held(model, 40);
    }
}

TEST(SlotsSimulation, AfterASilenceANewcomerGetsAllSlots) {
    SlotsModel model(3, 40, 5, 3, {0.02, 0.02, 0.02, 0.001, 0, 0});
    model.run(20 * second, 0.05);
    EXPECT_GT(model.redis.valid(model.now + 12'345), 30);
    model.silence();
    const Millis later = model.now + 12'345 + SlotsModel::ttl;
    EXPECT_EQ(model.redis.ask(-1, {1, 40, 40, 1, SlotsModel::ttl, 0}, later).held, 40);
}

TEST(SlotsSimulation, LargeLimitsNeedHardlyAnyCalls) {
    const auto calls_of = [](std::int64_t limit, double arrivals) {
        SlotsModel model(1, limit, 2, 4, {});
        model.longest = 100;
        model.run(20 * second, arrivals);
        return static_cast<double>(model.calls) / static_cast<double>(model.admitted);
    };
    EXPECT_LT(calls_of(1000, 4), 0.05);
    EXPECT_LT(calls_of(20, 0.1), 1);
    EXPECT_LT(calls_of(20, 0.4), 2.5);
}

}  // namespace
}  // namespace rate_limit::slots_simulation_test
