// Tokens of a far primary are there before they are needed: with 30 ms each way and 250 requests a second of
// one key hardly any of these waits.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "t/limiter/scenario.h"

namespace rate_limit::world::fetched_ahead_test {
namespace {

constexpr Micros far_away = 30'000;  // each way
constexpr std::size_t requests = 10'000;
constexpr Micros pause = 4'000;

struct Load {
    const char* name;
    LimitSetup limit;
    std::size_t workers;  ///< that get the requests in turn
    bool at_random;       ///< they come at random, else evenly
    double waiting;       ///< at most so many of all
};

class FarPrimary : public testing::TestWithParam<Load> {
protected:
    FarPrimary() {
        primary.link().there = far_away;
        primary.link().back = far_away;
        for (std::size_t i = 0; i < GetParam().workers; ++i) {
            world.worker(i);
        }
        world.pass(1'000);  // connections are there
    }

    Micros next_pause() { return GetParam().at_random ? static_cast<Micros>(gaps_(random_)) : pause; }

    /// How many of the requests had to wait.
    std::size_t waiting() {
        std::vector<ClientRequest*> all;
        for (std::size_t i = 0; i < requests; ++i) {
            all.push_back(&world.begin({"k"}, &world.worker(i % GetParam().workers)));
            if (all.back()->is_admitted()) {
                all.back()->end();
            }
            world.events.pass(next_pause());
        }
        world.pass(200);
        for (ClientRequest* request : all) {
            EXPECT_EQ(outcome(*request), "PASSED");
            if (!request->is_over()) {
                request->end();
            }
        }
        return static_cast<std::size_t>(std::count_if(
            all.begin(), all.end(), [](const ClientRequest* request) { return request->waited() != 0; }));
    }

    Scenario world{GetParam().limit};
    Redis primary{world.events, world.network, Scenario::primary_address};

private:
    std::mt19937 random_{7};
    std::exponential_distribution<double> gaps_{1.0 / static_cast<double>(pause)};
};

TEST_P(FarPrimary, LetsHardlyAnyRequestWait) {
    const std::size_t waited = waiting();
    RecordProperty("waited", static_cast<int>(waited));
    RecordProperty("fetched", static_cast<int>(counted(world, TokenEvent::fetched)));
    EXPECT_LT(static_cast<double>(waited), GetParam().waiting * requests);
    EXPECT_EQ(world.logged("could not be checked"), 0U);
}

const LimitSetup window{"default", "1000000r/h", "lease"};
const LimitSetup small_window{"default", "20000r/h", "lease"};
const LimitSetup bucket{"default", "500r/s", "lease", 1'000};
const LimitSetup slow_bucket{"default", "500r/s", "lease", 20'000};

INSTANTIATE_TEST_SUITE_P(Each, FarPrimary,
                         testing::Values(Load{"window", window, 1, false, 0.01},
                                         Load{"window_at_random", window, 1, true, 0.01},
                                         Load{"window_of_two_workers", window, 2, true, 0.01},
                                         Load{"small_window", small_window, 1, false, 0.01},
                                         Load{"bucket", bucket, 1, false, 0.01},
                                         Load{"bucket_of_two_workers", bucket, 2, false, 0.01},
                                         Load{"bucket_at_random", bucket, 1, true, 0.25},
                                         Load{"slow_bucket", slow_bucket, 1, false, 0.01},
                                         Load{"slow_bucket_at_random", slow_bucket, 2, true, 0.01}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rate_limit::world::fetched_ahead_test
