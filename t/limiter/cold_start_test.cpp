// Requests that come before a worker knows the servers of a store wait for them.

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "t/limiter/one_machine.h"
#include "t/world/cluster.h"
#include "t/world/master_watch.h"

namespace rate_limit::world::cold_start_test {
namespace {

enum class NamedBy { sentinels, cluster };

LimitSetup limit_of(const std::string& mode) {
    const bool a_mode = mode != "bucket" && mode != "slots";
    LimitSetup limit{"default", "10r/h", a_mode ? mode : "charge_refund"};
    limit.burst = mode == "bucket" ? 5 : 0;
    limit.running = mode == "slots";
    limit.rate = limit.running ? "10" : limit.rate;
    return limit;
}

/// One machine, and a primary with a replica, 20 ms away, which a sentinel or they themselves name. Who is
/// not checked is rejected.
struct ColdStart : OneMachine {
    ColdStart(NamedBy names, const std::string& mode) : OneMachine(limit_of(mode)) {
        setup.on_error = OnError::deny;
        StoreSetup& store = setup.stores.front();
        store.check_timeout = 500;
        store.connect_timeout = 2'000;
        if (names == NamedBy::cluster) {
            store.shards.clear();
            store.seeds = {primary_address};
            cluster.emplace(std::vector<ReplicaSet*>{&set}, 1);
        } else {
            store.shards = {{"a", "", {}, "m"}};
            store.sentinels = {sentinel.address()};
        }
        for (Link* link : {&primary.link(), &replica.link(), &sentinel.link()}) {
            link->there = link->back = 20'000;
        }
    }

    Redis replica{events, network, "10.0.0.2:6379"};
    LostWrites lost;
    ReplicaSet set{{&primary, &replica}, lost};
    std::optional<Cluster> cluster;
    Sentinel sentinel{network, "10.0.1.1:26379"};
    MasterWatch watch{"m", set, {&sentinel}};
};

class FirstRequests : public testing::TestWithParam<std::tuple<NamedBy, const char*>> {
protected:
    ColdStart world{std::get<0>(GetParam()), std::get<1>(GetParam())};
};

TEST_P(FirstRequests, WaitForTheServers) {
    for (int i = 0; i < 3; ++i) {
        world.begin({"client " + std::to_string(i)});
    }
    EXPECT_TRUE(world.admits("client", 450));
    EXPECT_EQ(world.logged("could not be checked"), 0U);
    EXPECT_EQ(world.logged("down"), 0U);
}

TEST_P(FirstRequests, WaitUpToCheckTimeout) {
    for (Link* link : {&world.primary.link(), &world.sentinel.link()}) {
        link->refuses = true;
    }
    ClientRequest& waits = world.begin({"client"});
    world.pass(490);
    EXPECT_EQ(outcome(waits), "");
    world.pass(20);
    EXPECT_EQ(outcome(waits), "ERROR_DENIED");
    world.pass(2'000);
    ClientRequest& later = world.begin({"client"});
    world.pass(1);
    EXPECT_NE(outcome(later), "") << "the servers were looked for long enough";
}

INSTANTIATE_TEST_SUITE_P(Each, FirstRequests,
                         testing::Combine(testing::Values(NamedBy::sentinels, NamedBy::cluster),
                                          testing::Values("check_charge", "charge_refund", "lease", "bucket",
                                                          "slots")));

}  // namespace
}  // namespace rate_limit::world::cold_start_test
