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

const std::string key = "rl:default/3600:client";

/// One machine, and a cluster of two primaries with a replica each. The second one has no slots in the
/// beginning.
struct WithCluster : OneMachine {
    explicit WithCluster(const std::string& mode = "charge_refund") : OneMachine({"default", "10r/h", mode}) {
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
    EXPECT_EQ(world.primary.used(key), 10);
    EXPECT_EQ(world.replica.used(key), 10);
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
    EXPECT_EQ(world.primary.used(key), 0);
    EXPECT_EQ(world.other.used(key), 10);
    EXPECT_EQ(world.replica_of_other.used(key), 10);
}

TEST_P(Clusters, AreFollowedToAnotherPrimary) {
    world.worker();
    world.pass(100);
    EXPECT_EQ(world.admits_of(4), 4);
    world.pass(1'000);
    world.cluster.hand_over(world.first, world.replica);
    EXPECT_EQ(world.admits_of(8), 6);
    world.pass(10'000);
    EXPECT_EQ(world.replica.used(key), 10);
    EXPECT_EQ(world.lost.of(key).taken, 0);
}

INSTANTIATE_TEST_SUITE_P(Each, Clusters, testing::Values("check_charge", "charge_refund", "lease"));

TEST(ACluster, IsLookedUpAndResetWhereTheSlotIs) {
    WithCluster world;
    world.worker();
    world.pass(100);
    const auto look = [&world] { return answer_to(world, "key=client&limit=default"); };
    const auto reset = [&world] { return answer_to(world, "do=reset&key=client&limit=default"); };
    EXPECT_EQ(world.admits_of(12), 10);
    EXPECT_TRUE(has(look(), "\"used\":10"));
    EXPECT_TRUE(has(reset(), "\"used\":0"));
    EXPECT_EQ(world.primary.used(key), 0);
    EXPECT_EQ(world.admits_of(12), 10);
    world.begin_move();
    EXPECT_TRUE(world.cluster.move_keys(10));
    EXPECT_TRUE(has(look(), "\"used\":10")) << "ASK";
    EXPECT_TRUE(has(reset(), "\"used\":0"));
    world.cluster.end_move();
    world.cluster.tell_all();
    EXPECT_EQ(world.admits_of(12), 10);
    EXPECT_TRUE(has(reset(), "\"used\":0")) << "MOVED";
    EXPECT_EQ(world.other.used(key), 0);
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
    EXPECT_EQ(world.replica.used(key), 10);
}

}  // namespace
}  // namespace rate_limit::world::cluster_test
