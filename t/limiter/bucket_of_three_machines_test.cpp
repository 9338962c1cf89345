// Three machines of two workers, each asked by many clients, take from one bucket; the clock of one is ten
// seconds ahead, that of another behind.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "t/limiter/calls.h"
#include "t/limiter/scenario.h"

namespace rate_limit::world::bucket_of_three_machines_test {
namespace {

struct OfMode {
    const char* mode;
    std::int64_t rate;
    std::int64_t burst;
    std::int64_t held_back;  ///< by machines that have fetched it and are not asked
};

class BucketOfThreeMachines : public testing::TestWithParam<OfMode> {
protected:
    BucketOfThreeMachines() {
        for (std::size_t i = 0; i < 6; ++i) {
            world.worker(i % 2, i / 2);
        }
        world.machine(1).clock().stepped = 10'000'000;
        world.machine(2).clock().stepped = -10'000'000;
        world.pass(1'000);
    }

    /// Each worker gets a request every `every` microseconds, for so long. Which machines' requests passed,
    /// and when.
    void rush(const std::string& key, Micros every, Micros lasts) {
        passed.clear();
        asked = 0;
        shares = {};
        for (Micros time = 0; time < lasts; time += every) {
            for (std::size_t i = 0; i < 6; ++i) {
                ClientRequest& request = world.begin(key, &world.worker(i % 2, i / 2));
                waiting.push_back({&request, i / 2});
            }
            asked += 6;
            world.events.pass(every);
            take_decided();
        }
        world.pass(100);
        take_decided();
        EXPECT_TRUE(waiting.empty());
    }

    void take_decided() {
        const auto decided = [this](const Waiting& one) {
            if (!one.request->is_decided()) {
                return false;
            }
            if (outcome(*one.request) == "PASSED") {
                passed.push_back(world.events.now());
                ++shares.at(one.machine);
                one.request->end();
            }
            return true;
        };
        waiting.erase(std::remove_if(waiting.begin(), waiting.end(), decided), waiting.end());
    }

    /// How many more than burst and rate have passed in some time, of which a request may be decided `late`.
    double most_over(Micros late) const {
        double most = 0;
        for (std::size_t first = 0; first < passed.size(); ++first) {
            for (std::size_t last = first; last < passed.size(); ++last) {
                const auto span = static_cast<double>(passed[last] - passed[first] + late);
                const double may =
                    static_cast<double>(GetParam().burst) + span * static_cast<double>(GetParam().rate) / 1e6;
                most = std::max(most, static_cast<double>(last - first + 1) - may);
            }
        }
        return most;
    }

    struct Waiting {
        ClientRequest* request;
        std::size_t machine;
    };

    Scenario world{{"default", std::to_string(GetParam().rate) + "r/s", GetParam().mode, GetParam().burst}};
    Redis primary{world.events, world.network, Scenario::primary_address};
    Calls calls{primary};
    std::vector<Waiting> waiting;
    std::vector<Micros> passed;
    std::array<std::size_t, 3> shares{};
    std::int64_t asked = 0;
};

TEST_P(BucketOfThreeMachines, LetsThroughBurstAndRateAndNoMore) {
    const auto [mode, rate, burst, held_back] = GetParam();
    constexpr Micros lasts = 2'000'000;
    const Micros every = 6 * 1'000'000 / (3 * rate);  // three times the rate
    rush("fast", every, lasts);
    EXPECT_LE(most_over(every + 10'000), 1e-6);
    EXPECT_GE(static_cast<double>(passed.size()), 0.8 * static_cast<double>(burst - held_back + 2 * rate));
    for (const std::size_t share : shares) {
        EXPECT_GE(share, passed.size() / 12) << "a clock that differs makes no difference";
    }
}

TEST_P(BucketOfThreeMachines, RejectsNothingOfWhatComesSlower) {
    const Micros every = 10 * 1'000'000 / GetParam().rate;  // 0.6 times the rate
    rush("slow", every, 2'000'000);
    EXPECT_EQ(static_cast<std::int64_t>(passed.size()), asked);
    if (std::string(GetParam().mode) == "charge_refund") {
        EXPECT_GE(2 * calls["bitfield"], passed.size()) << "most of it by plain commands";
    }
}

INSTANTIATE_TEST_SUITE_P(BothModes, BucketOfThreeMachines,
                         testing::Values(OfMode{"charge_refund", 50, 25, 0}, OfMode{"lease", 400, 400, 20}),
                         [](const auto& of) { return std::string(of.param.mode); });

}  // namespace
}  // namespace rate_limit::world::bucket_of_three_machines_test
