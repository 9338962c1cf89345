// Machines that lease tokens of one bucket, in simulated time: however their requests make them hoard tokens
// and put them back, no more pass than burst + rate * T of the largest limit in any time T.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bucket_lease_model.h"

namespace rate_limit::bucket_lease_simulation_test {
namespace {

struct Case {
    std::vector<Bucket> limits;  // the first one has the longest life
    int machines;
    int workers;
};

Bucket bucket(std::int64_t rate, std::int64_t burst) {
    return *Bucket::of({rate, 1}, burst);
}

/// A request of any limit, to any worker.
ModelRequest any_request(BucketLeaseModel& model, std::size_t machine, std::int64_t cost = 1) {
    return {machine, model.one_of(model.workers()), cost, model.one_of(model.limits()), false};
}

/// A request comes to each machine again and again, so that all have tokens as long as possible; then as many
/// as may come at once.
void hoard(BucketLeaseModel& model, Millis time, Millis every, bool gives_back) {
    for (Millis at = 0; at < time; ++at) {
        for (std::size_t i = 0; i < model.size(); ++i) {
            if ((at + static_cast<Millis>(i)) % every == 0) {
                if (gives_back) {
                    model.look(i, true);
                }
                model.request(any_request(model, i));
            }
        }
        model.step();
    }
}

void burst(BucketLeaseModel& model, Millis time) {
    const std::size_t many = std::min<std::size_t>(300, 3000 / model.size());  // more than there are tokens
    for (Millis at = 0; at < time; ++at) {
        for (std::size_t i = 0; i < model.size(); ++i) {
            for (std::size_t n = 0; n < many; ++n) {
                model.request(any_request(model, i));
            }
        }
        model.step();
    }
}

/// Spells of much and of no traffic, on machines chosen at random, that look at what is dead now and then.
/// Some requests cost much, and some of these are exempt.
void rage(BucketLeaseModel& model, Millis time, std::int64_t much) {
    std::vector<std::size_t> rates(model.size());
    for (Millis at = 0; at < time; ++at) {
        for (std::size_t i = 0; i < model.size(); ++i) {
            if (model.one_of(200) == 0) {
                rates[i] = model.one_of(4) == 0 ? model.one_of(20) : 0;
            }
            for (std::size_t n = 0; n < rates[i]; ++n) {
                ModelRequest request = any_request(model, i, model.one_of(10) == 0 ? 4 : 1);
                request.exempt = model.one_of(4) == 0;
                request.cost = request.exempt && model.one_of(20) == 0 ? much : request.cost;
                model.request(request);
            }
            if ((at + static_cast<Millis>(i)) % 250 == 0) {
                model.look(i, model.one_of(20) == 0);
            }
        }
        model.step();
    }
}

struct Outcome {
    double over = -1e18;  ///< the most tokens of the first limit above what may pass
    std::int64_t late = 0;
    std::int64_t put_back = 0;

    void add(const BucketLeaseModel& model, const Bucket& first) {
        over = std::max(over, static_cast<double>(model.meter.over) / static_cast<double>(first.token()));
        late += model.late;
        put_back += model.put_back_here;
    }
};

/// With batches of a fixed size or, for 0, of the size that the machines choose.
void try_size(const Case& of, LeaseRules rules, std::int64_t fixed, Outcome& outcome) {
    const Bucket& first = of.limits.front();
    const Millis life = lease_of(first).life;
    rules.fixed = fixed;
    unsigned seed = 0;
    for (const Millis every : {life, life - 8, life / 2, life * 3 / 2}) {
        for (const bool gives_back : {false, true}) {
            BucketLeaseModel model(++seed, of.limits, of.machines, of.workers, rules);
            hoard(model, 30 * life, every, gives_back);
            burst(model, 2 * life);
            hoard(model, 10 * life, every, gives_back);
            burst(model, life);
            outcome.add(model, first);
        }
    }
    for (const std::int64_t much : {std::int64_t{4}, first.burst() / of.machines}) {
        BucketLeaseModel model(++seed, of.limits, of.machines, of.workers, rules);
        rage(model, 10'000, much);
        outcome.add(model, first);
    }
}

Outcome outcome_of(const Case& of, const LeaseRules& rules) {
    Outcome outcome;
    const Bucket& first = of.limits.front();
    const std::int64_t kept = lease_of(first).kept;
    for (const std::int64_t fixed : {std::int64_t{0}, kept, first.burst() / of.machines}) {
        try_size(of, rules, fixed, outcome);
    }
    return outcome;
}

/// The first worker of a machine hears late what it was granted for a request that is exempt. Meanwhile the
/// second one has few tokens, but younger ones; then as many requests as may come to it.
Outcome outcome_of_waiting(const Case& of, std::int64_t much, LeaseRules rules) {
    Outcome outcome;
    rules.fixed = 10;
    BucketLeaseModel model(1, of.limits, 1, 2, rules);
    model.first_is_late = true;
    const Millis life = model.life();
    for (int round = 0; round < 8; ++round) {
        model.request({0, 0, much, 0, true});
        for (Millis at = 0; at < 25 * life; ++at) {
            const bool few = at < 4 * life + 20 && at % (life / 4) == 0;
            const bool many = at >= 4 * life + 20 && at < 6 * life;
            for (int n = 0; n < (many ? 200 : few ? 1 : 0); ++n) {
                model.request({0, 1, 1, model.one_of(model.limits()), false});
            }
            model.step();
        }
    }
    outcome.add(model, of.limits.front());
    return outcome;
}

TEST(BucketLeaseSimulation, HoardersNeverPassBurstAndRate) {
    const Case cases[] = {
        {{bucket(100, 100)}, 3, 1},
        {{bucket(1000, 2000)}, 10, 1},
        {{bucket(2000, 2000)}, 100, 1},
        {{bucket(200, 4000)}, 30, 2},
    };
    for (const Case& of : cases) {
        EXPECT_LE(outcome_of(of, {}).over, 0) << of.limits.front().burst() << " on " << of.machines;
    }
}

const Case few_machines = {{bucket(100, 2000)}, 2, 4};
const Case two_rates = {{bucket(1000, 20'000), bucket(100, 2000)}, 2, 2};
const Case two_bursts = {{bucket(500, 4000), bucket(500, 1000)}, 3, 2};
const Case one_too_small = {{bucket(10'000, 4000), bucket(10'000, 3999)}, 2, 2};

TEST(BucketLeaseSimulation, NorDoWorkersWhoseBatchesAreLate) {
    const Outcome outcome = outcome_of(few_machines, {});
    EXPECT_LE(outcome.over, 0);
    EXPECT_GT(outcome.late, 100);
    EXPECT_GT(outcome.put_back, 100);
    for (const std::int64_t much : {1000, 1850}) {
        const Outcome waited = outcome_of_waiting(few_machines, much, {});
        EXPECT_LE(waited.over, 0) << much;
        EXPECT_GT(waited.late, 0) << much;
    }
}

TEST(BucketLeaseSimulation, NorDoLimitsThatShareABucket) {
    for (const Case& of : {two_rates, two_bursts, one_too_small}) {
        const Outcome outcome = outcome_of(of, {});
        EXPECT_LE(outcome.over, 0) << of.limits.back().burst();
        EXPECT_GT(outcome.put_back, 100);
    }
}

LeaseRules without(bool LeaseRules::*rule) {
    LeaseRules rules;
    rules.*rule = false;
    return rules;
}

/// The tests above would fail if any one of the rules were left out.
TEST(BucketLeaseSimulation, EachRuleIsNeeded) {
    const Case hoarders = {{bucket(1000, 2000)}, 10, 1};
    EXPECT_GT(outcome_of(hoarders, without(&LeaseRules::cut)).over, 50) << "the smaller burst";
    EXPECT_GT(outcome_of(hoarders, without(&LeaseRules::die)).over, 50) << "death";
    EXPECT_GT(outcome_of(hoarders, without(&LeaseRules::discount)).over, 50) << "less for older tokens";
    EXPECT_GT(outcome_of(two_rates, without(&LeaseRules::marked)).over, 50) << "tokens of other terms";
    EXPECT_GT(outcome_of_waiting(few_machines, 1000, without(&LeaseRules::oldest)).over, 50)
        << "as old as the oldest";
}

/// A client that comes evenly, a bit slower than the rate, is hardly refused, and Redis hears of few of its
/// requests.
TEST(BucketLeaseSimulation, FewCallsAndFewRefusals) {
    for (const int machines : {1, 3, 10}) {
        BucketLeaseModel model(7, {bucket(4000, 4000)}, machines, 1, {});
        for (Millis at = 0; at < 20'000; ++at) {
            for (int n = 0; n < 3; ++n) {
                model.request(any_request(model, model.one_of(model.size())));
            }
            model.step();
        }
        const double per_request = static_cast<double>(model.calls) / static_cast<double>(model.requests);
        RecordProperty("calls per request on " + std::to_string(machines), std::to_string(per_request));
        EXPECT_LT(per_request, 0.15) << machines;
    }
}

}  // namespace
}  // namespace rate_limit::bucket_lease_simulation_test
