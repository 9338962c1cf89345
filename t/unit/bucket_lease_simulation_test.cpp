// Machines that lease tokens of one bucket, in simulated time: however their requests make them hoard tokens,
// no more pass than burst + rate * T in any time T.

#include <string>

#include <gtest/gtest.h>

#include "bucket_lease_model.h"

namespace rate_limit {
namespace {

/// A request comes to each machine again and again, so that all have tokens as long as possible; then as many
/// as may come at once.
void hoard(BucketLeaseModel& model, Millis time, Millis every, bool gives_back) {
    for (Millis at = 0; at < time; ++at) {
        for (std::size_t i = 0; i < model.size(); ++i) {
            if ((at + static_cast<Millis>(i)) % every == 0) {
                if (gives_back) {
                    model.look(i, true);
                }
                model.request(i);
            }
        }
        model.step();
    }
}

void burst(BucketLeaseModel& model, Millis time) {
    for (Millis at = 0; at < time; ++at) {
        for (std::size_t i = 0; i < model.size(); ++i) {
            for (int n = 0; n < 300; ++n) {
                model.request(i);
            }
        }
        model.step();
    }
}

/// Spells of much and of no traffic, on machines chosen at random, that look at what is dead now and then.
void rage(BucketLeaseModel& model, Millis time) {
    std::vector<unsigned> rates(model.size());
    for (Millis at = 0; at < time; ++at) {
        for (std::size_t i = 0; i < model.size(); ++i) {
            if (model.random()() % 200 == 0) {
                rates[i] = model.random()() % 4 == 0 ? model.random()() % 20 : 0;
            }
            for (unsigned n = 0; n < rates[i]; ++n) {
                model.request(i, 1 + static_cast<std::int64_t>(model.random()() % 10 == 0 ? 3 : 0));
            }
            if ((at + static_cast<Millis>(i)) % 250 == 0) {
                model.look(i, model.random()() % 20 == 0);
            }
        }
        model.step();
    }
}

/// The most above burst + rate * T over several hoarders.
double worst_of(const Bucket& bucket, int machines, LeaseRules rules) {
    double worst = -1e18;
    const Millis life = lease_of(bucket)->life;
    for (const std::int64_t fixed : {std::int64_t{0}, lease_of(bucket)->kept, bucket.burst() / machines}) {
        rules.fixed = fixed;
        unsigned seed = 0;
        for (const Millis every : {life, life - 8, life / 2, life * 3 / 2}) {
            for (const bool gives_back : {false, true}) {
                BucketLeaseModel model(++seed, bucket, machines, rules);
                hoard(model, 30 * life, every, gives_back);
                burst(model, 2 * life);
                hoard(model, 10 * life, every, gives_back);
                burst(model, life);
                worst = std::max(worst, model.meter.over);
            }
        }
        BucketLeaseModel model(++seed, bucket, machines, rules);
        rage(model, 10'000);
        worst = std::max(worst, model.meter.over);
    }
    return worst;
}

struct Case {
    Rate rate;
    std::int64_t burst;
    int machines;
};

const Case cases[] = {
    {{100, 1, false}, 100, 3},
    {{1000, 1, false}, 2000, 10},
    {{2000, 1, false}, 2000, 100},
    {{200, 1, false}, 4000, 30},
};

TEST(BucketLeaseSimulation, HoardersNeverPassBurstAndRate) {
    for (const Case& of : cases) {
        EXPECT_LE(worst_of(*Bucket::of(of.rate, of.burst), of.machines, {}), 0)
            << of.burst << " on " << of.machines;
    }
}

/// What the test above would say without one of the three rules.
TEST(BucketLeaseSimulation, EachRuleIsNeeded) {
    const Bucket bucket = *Bucket::of({1000, 1, false}, 2000);
    EXPECT_GT(worst_of(bucket, 10, {false, true, true, 0}), 50) << "the smaller burst";
    EXPECT_GT(worst_of(bucket, 10, {true, false, true, 0}), 50) << "death";
    EXPECT_GT(worst_of(bucket, 10, {true, true, false, 0}), 50) << "less for older tokens";
}

/// A client that comes evenly, a bit slower than the rate, is hardly refused, and Redis hears of few of its
/// requests.
TEST(BucketLeaseSimulation, FewCallsAndFewRefusals) {
    for (const int machines : {1, 3, 10}) {
        BucketLeaseModel model(7, *Bucket::of({4000, 1, false}, 4000), machines, {});
        for (Millis at = 0; at < 20'000; ++at) {
            for (int n = 0; n < 3; ++n) {
                model.request(model.random()() % model.size());
            }
            model.step();
        }
        const double per_request = static_cast<double>(model.calls) / static_cast<double>(model.requests);
        RecordProperty("calls per request on " + std::to_string(machines), std::to_string(per_request));
        EXPECT_LT(per_request, 0.15) << machines;
    }
}

}  // namespace
}  // namespace rate_limit
