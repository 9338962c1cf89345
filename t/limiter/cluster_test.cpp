// A store whose servers are a cluster.

#include <memory>
#include <string>
#include <vector>

#include "redis/keys/routes.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/poster.h"
#include "t/world/cluster.h"

namespace rate_limit::world::cluster_test {
namespace {

/// One machine, and a cluster of two primaries with a replica each. The second one has no slots in the
/// beginning.
struct WithCluster : OneMachine {
    explicit WithCluster(const std::string& mode = "charge_refund")
        : OneMachine(mode == "bucket" ? LimitSetup{"default", "1r/h", "charge_refund", 10}
                                      : LimitSetup{"default", "10r/h", mode}) {
        key = stored_key("client", mode == "bucket" ? "3600b" : "3600");
        StoreSetup& store = setup.stores.front();
        store.shards.clear();
        store.seeds = {primary_address};
        setup.on_error = OnError::deny;
    }

    int admits_of(int requests) {
        int admitted = 0;
        for (int i = 0; i < requests; ++i) {
            admitted += admits("client") ? 1 : 0;
        }
        return admitted;
    }

    void begin_move() {
        const std::uint16_t slot = key_slot(key);
        cluster.begin_move({{slot, slot}, &first, &second});
    }

    std::int64_t used(Redis& node) {
        return key.find("b:") == std::string::npos ? node.used(key)
                                                   : (until_full(node, key) + hour - 1) / hour;
    }

    static constexpr std::int64_t hour = 3'600'000'000'000;  // in nanoseconds
    std::string key;
    Redis replica{events, network, "10.0.0.2:6379"};
    Redis other{events, network, "10.0.0.3:6379"};
    Redis replica_of_other{events, network, "10.0.0.4:6379"};
    LostWrites lost;
    ReplicaSet first{{&primary, &replica}, lost};
    ReplicaSet second{{&other, &replica_of_other}, lost};
    Cluster cluster{{&first, &second}, 1};
};

class Clusters : public testing::TestWithParam<const char*> {
protected:
    WithCluster world{GetParam()};
};

TEST_P(Clusters, CountAsOneServerDoes) {
    world.worker();
    world.pass(100);
    EXPECT_EQ(world.admits_of(12), 10);
    world.pass(10'000);
    EXPECT_EQ(world.used(world.primary), 10);
    EXPECT_EQ(world.used(world.replica), 10);
}

TEST_P(Clusters, AreFollowedWhileASlotMoves) {
    world.worker();
    world.pass(100);
    EXPECT_EQ(world.admits_of(3), 3);
    world.pass(1'000);
    world.begin_move();
    EXPECT_EQ(world.admits_of(2), 2);
    EXPECT_TRUE(world.cluster.move_keys(10));
    EXPECT_EQ(world.admits_of(2), 2);  // ASK
    world.cluster.end_move();
    EXPECT_EQ(world.admits_of(1), 1);
    world.cluster.tell_all();
    EXPECT_EQ(world.admits_of(5), 2);  // MOVED
    world.pass(10'000);
    EXPECT_EQ(world.used(world.primary), 0);
    EXPECT_EQ(world.used(world.other), 10);
    EXPECT_EQ(world.used(world.replica_of_other), 10);
}

TEST_P(Clusters, AreFollowedToAnotherPrimary) {
    world.worker();
    world.pass(100);
    EXPECT_EQ(world.admits_of(4), 4);
    world.pass(1'000);
    world.cluster.hand_over(world.first, world.replica);
    EXPECT_EQ(world.admits_of(8), 6);
    world.pass(10'000);
    EXPECT_EQ(world.used(world.replica), 10);
    EXPECT_EQ(world.lost.of(world.key).taken, 0);
}

INSTANTIATE_TEST_SUITE_P(Each, Clusters, testing::Values("check_charge", "charge_refund", "lease", "bucket"));

/// Connections end anywhere in commands and answers, before a slot moves and after.
TEST(ACluster, CountsBatchesAndRefundsOnceWhoseAnswersAreLost) {
    WithCluster world("lease");
    world.setup.limits.front().rate = "2000r/h";
    world.setup.limits.front().lease = 20;
    EXPECT_TRUE(world.until([&world] { return world.admits("client"); }));
    std::int64_t passed = 1;
    int failed = 0;
    const auto pass = [&](Redis& node) {
        for (std::uint64_t i = 0; i < 300; ++i) {
            i % 5 == 0 ? node.reset_connections_within(i * 0x9e3779b97f4a7c15U) : void();
            EXPECT_TRUE(world.until([&] {
                const bool admitted = world.admits("client", 3);
                failed += admitted ? 0 : 1;
                return admitted;
            }));
            ++passed;
        }
    };
    pass(world.primary);
    world.begin_move();
    EXPECT_TRUE(world.cluster.move_keys(10));
    world.cluster.end_move();
    world.cluster.tell_all();
    pass(world.other);
    EXPECT_GT(failed, 10);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.other.used(world.key), passed);
    EXPECT_EQ(world.logged("[^0] in doubt"), 0U);
}

TEST(ACluster, IsLookedUpAndResetWhereTheSlotIs) {
    WithCluster world;
    world.worker();
    world.pass(100);
    const auto look = [&world] { return answer_to(world, "key=client&limit=default"); };
    const auto reset = [&world] { return answer_to(world, "do=reset&key=client&limit=default"); };
    EXPECT_EQ(world.admits_of(12), 10);
    EXPECT_TRUE(has(look(), "\"used\":10"));
    EXPECT_TRUE(has(reset(), "\"used\":0"));
    EXPECT_EQ(world.primary.used(world.key), 0);
    EXPECT_EQ(world.admits_of(12), 10);
    world.begin_move();
    EXPECT_TRUE(world.cluster.move_keys(10));
    EXPECT_TRUE(has(look(), "\"used\":10")) << "ASK";
    EXPECT_TRUE(has(reset(), "\"used\":0"));
    world.cluster.end_move();
    world.cluster.tell_all();
    EXPECT_EQ(world.admits_of(12), 10);
    EXPECT_TRUE(has(reset(), "\"used\":0")) << "MOVED";
    EXPECT_EQ(world.other.used(world.key), 0);
    EXPECT_EQ(world.admits_of(1), 1);
}

TEST(ACluster, ThatIsDownIsTriedAgain) {
    WithCluster world;
    world.worker();
    world.pass(100);
    EXPECT_EQ(world.admits_of(4), 4);
    for (Redis* node : {&world.primary, &world.replica, &world.other, &world.replica_of_other}) {
        world.cluster.cut_off(*node);
    }
    EXPECT_EQ(world.admits_of(3), 0);
    world.cluster.tell_all();
    world.pass(5'000);
    EXPECT_EQ(world.admits_of(8), 6);
}

TEST(ACluster, ThatLosesAPrimaryGoesOnWithItsReplica) {
    WithCluster world;
    world.worker();
    world.pass(100);
    EXPECT_EQ(world.admits_of(4), 4);
    world.primary.link().silent = true;
    world.primary.vanish();
    EXPECT_EQ(world.admits_of(3), 0);
    world.cluster.promote(world.first, world.replica);
    world.cluster.tell(world.other);
    world.cluster.tell(world.replica_of_other);
    world.pass(5'000);
    EXPECT_EQ(world.admits_of(8), 6);
    EXPECT_EQ(world.used(world.replica), 10);
}

}  // namespace
}  // namespace rate_limit::world::cluster_test
