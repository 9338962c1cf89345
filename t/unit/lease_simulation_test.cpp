// Machines that share one primary and get requests at given rates, in simulated time: how many calls batches
// save, and how much of the limit one machine keeps from another.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "lease_model.h"

namespace rate_limit::lease_simulation_test {
namespace {

constexpr Millis second = 1000;
constexpr Rate large{100'000, 3600};

double calls_per_request(const ModelMachine::Counts& to, const ModelMachine::Counts& from = {}) {
    return static_cast<double>(to.calls() - from.calls()) / static_cast<double>(to.requests - from.requests);
}

/// Runs until the first machine rejects a request; how much of the limit the second one then holds in tokens.
double held_at_rejection(LeaseModel& model, const Rate& rate) {
    model.run(rate.period * second - 1, [&] { return model.machine(0).counts.rejected == 0; });
    EXPECT_GT(model.machine(0).counts.rejected, 0);
    return static_cast<double>(model.machine(1).held(model.now())) / static_cast<double>(rate.limit);
}

TEST(LeaseSimulation, NeverMoreThanTheLimitIsSpentInAWindow) {
    for (const Rate& rate : {Rate{1, 2}, Rate{2, 2}, Rate{19, 2}, Rate{20, 1}, Rate{100, 1}, Rate{1000, 2},
                             Rate{5000, 10}, Rate{20'000, 10}}) {
        for (const Millis round_trip : {Millis{1}, Millis{20}}) {
            LeaseModel model(rate, round_trip);
            model.add({1500}, 3);
            model.add({1400, 700, 1100}, 2);
            model.add({3}, 1);
            model.run(rate.period * second * 5);
            std::map<Millis, std::int64_t> admitted;
            for (std::size_t i = 0; i < 3; ++i) {
                for (const auto& [reset, count] : model.machine(i).windows()) {
                    admitted[reset] += count;
                }
            }
            EXPECT_GE(admitted.size(), 4U);
            for (const auto& [reset, count] : admitted) {
                EXPECT_LE(count, rate.limit) << rate.limit << "r/" << rate.period << "s";
                if (reset < model.now() && rate.limit < 1000 * rate.period) {
                    EXPECT_GE(count, rate.limit - 2) << "not all of the limit is spent: " << rate.limit;
                }
            }
        }
    }
}

TEST(LeaseSimulation, BusyMachinesHardlyAsk) {
    for (const Millis round_trip : {Millis{1}, Millis{20}}) {
        LeaseModel model(large, round_trip);
        model.add({500}, 2);
        model.add({500}, 2);
        model.run(15 * second);
        const std::array<ModelMachine::Counts, 2> cold{model.machine(0).counts, model.machine(1).counts};
        model.run(55 * second);
        for (std::size_t i = 0; i < cold.size(); ++i) {
            EXPECT_LT(calls_per_request(cold.at(i)), 0.002) << "in the first part of the run, too";
            EXPECT_LT(calls_per_request(model.machine(i).counts, cold.at(i)), 0.001);
        }
        held_at_rejection(model, large);
        for (std::size_t i = 0; i < cold.size(); ++i) {
            EXPECT_LT(calls_per_request(model.machine(i).counts), 0.001)
                << "including the small batches at the end";
            EXPECT_EQ(model.machine(i).counts.refunds, 0);
        }
    }
}

TEST(LeaseSimulation, CallsARequestWithSmallLimits) {
    const auto calls_of = [](const Rate& rate, double speed) {
        LeaseModel model(rate);
        model.add({speed});
        model.run(rate.period * second - 1, [&] { return model.machine(0).counts.rejected == 0; });
        return calls_per_request(model.machine(0).counts);
    };
    EXPECT_LT(calls_of({100, 3600}, 50), 0.33);
    EXPECT_LT(calls_of({1000, 3600}, 50), 0.05);
    EXPECT_LT(calls_of({5000, 3600}, 50), 0.012);
    EXPECT_LT(calls_of({100, 1}, 500), 0.33);
}

TEST(LeaseSimulation, ASlowMachineHoldsLessThanAThousandthWhenTheBusyOneIsRejected) {
    for (const double slow : {0.1, 1.0, 10.0}) {
        for (int phase = 0; phase < 20; ++phase) {
            LeaseModel model(large);
            model.add({500 * (1 + phase * 0.013)});
            model.add({slow});
            EXPECT_LT(held_at_rejection(model, large), 0.001) << slow << ' ' << phase;
            EXPECT_EQ(model.machine(0).counts.admitted + model.machine(1).counts.admitted +
                          model.machine(1).held(model.now()),
                      large.limit);
        }
    }
}

TEST(LeaseSimulation, NoBusyMachineHoldsWhatAnotherNeeds) {
    for (int phase = 0; phase < 10; ++phase) {
        LeaseModel model(large);
        model.add({500});
        model.add({500 * (1 + phase * 0.013)});
        EXPECT_LT(held_at_rejection(model, large), 0.001) << phase;
        const auto share = static_cast<double>(model.machine(0).counts.admitted) / large.limit;
        EXPECT_GT(share, 0.45) << phase;
        EXPECT_LT(share, 0.52) << phase;
    }
}

TEST(LeaseSimulation, NoMachineHoldsMoreThanABatch) {
    for (const std::int64_t limit : {10, 100, 1000, 100'000}) {
        LeaseModel model({limit, 60});
        model.add({static_cast<double>(limit) / 20});
        ModelMachine& machine = model.machine(0);
        model.run(300 * second, [&] {
            EXPECT_LE(machine.held(model.now()), std::max<std::int64_t>(1, limit / 20)) << limit;
            return !::testing::Test::HasFailure();
        });
    }
}

TEST(LeaseSimulation, AtAnEvenSpeedNothingIsFetchedToBeGivenBack) {
    const auto check = [](const Rate& rate, double speed, double most) {
        LeaseModel model(rate);
        model.add({speed});
        model.run(300 * second);
        const ModelMachine::Counts warm = model.machine(0).counts;
        model.run(3000 * second);
        EXPECT_LE(model.machine(0).counts.refunds - warm.refunds, 1) << speed << " of " << rate.limit;
        EXPECT_LT(calls_per_request(model.machine(0).counts, warm), most) << speed << " of " << rate.limit;
    };
    check(large, 0.3, 0.35);
    check(large, 1, 0.08);
    check(large, 3, 0.03);
    check(large, 10, 0.012);
    check({5000, 3600}, 0.3, 0.35);
    check({1'000'000, 24 * 3600}, 10, 0.009);
    check({10'000'000, 3600}, 500, 0.0002);
}

TEST(LeaseSimulation, ABurstLeavesNothingBehind) {
    LeaseModel model(large);
    model.add({500, 20 * second, 40 * second});
    model.run(20 * second);
    EXPECT_GT(model.machine(0).batch(model.now()), 1000);
    EXPECT_GT(model.machine(0).held(model.now()), 0);
    model.run(11 * second);
    EXPECT_EQ(model.machine(0).held(model.now()), 0);
    EXPECT_EQ(model.primary.window().used, model.machine(0).counts.admitted);
    EXPECT_EQ(model.machine(0).counts.refunds, 1);
}

TEST(LeaseSimulation, BatchesFollowAKeyThatSlowsDown) {
    LeaseModel model({1'000'000, 3600});
    model.add({1000, 20 * second, 3600 * second});
    ModelMachine& machine = model.machine(0);
    model.run(20 * second);
    const ModelMachine::Counts busy = machine.counts;
    for (int i = 0; i < 600; ++i) {
        model.run(100);
        machine.request(model.now());
    }
    EXPECT_LE(machine.held(model.now()), 300) << "what 10 a second spend in half a minute";
    EXPECT_LE(machine.counts.refunds - busy.refunds, 2);
    EXPECT_LT(calls_per_request(machine.counts, busy), 0.02);
}

}  // namespace
}  // namespace rate_limit::lease_simulation_test
