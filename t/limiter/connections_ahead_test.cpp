// Connections are there before a request needs them, and what has forgotten one is found.

#include <string>
#include <vector>

#include "t/limiter/primary_and_replica.h"

namespace rate_limit::world::connections_ahead_test {
namespace {

using ConnectionsAhead = PrimaryAndReplica;

TEST_F(ConnectionsAhead, AreThereBeforeTheFirstRequest) {
    world.worker();
    world.pass(150);
    EXPECT_EQ(primary.connections(), 1U);
    EXPECT_EQ(replica.connections(), 1U);
    EXPECT_EQ(world.ask("k"), "PASSED");
    world.pass(100);
    EXPECT_EQ(primary.connections(), 1U);
    EXPECT_EQ(replica.connections(), 1U);
}

/// Two round trips and a greeting take longer than check_timeout, and nothing has failed.
TEST_F(ConnectionsAhead, MayTakeLongerThanACheck) {
    place(primary, 60'000);
    place(replica, 60'000);
    world.setup.stores.front().check_timeout = 200;
    world.worker();
    world.pass(1'000);
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_EQ(world.logged("."), 0U);
}

TEST_F(ConnectionsAhead, AreAnEighthOfAllAtMost) {
    world.setup.connections = 8;
    world.worker();
    world.pass(500);
    EXPECT_EQ(primary.connections(), 1U) << "the primary goes first";
    EXPECT_EQ(replica.connections(), 0U);
    EXPECT_EQ(world.logged("connects to 1 servers before they are needed"), 1U);
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_EQ(replica.connections(), 1U);
}

TEST_F(ConnectionsAhead, AreMadeAgainWhereTheyAreLost) {
    world.worker();
    world.pass(150);
    replica.drop();
    primary.drop();
    world.pass(150);
    EXPECT_EQ(primary.open(), 1U);
    EXPECT_EQ(replica.open(), 1U);
    EXPECT_EQ(world.logged("is down"), 0U);
}

TEST_F(ConnectionsAhead, ToAReplicaAreTriedEachSecond) {
    world.worker();
    world.pass(150);
    replica.stop();
    world.pass(60'000);
    replica.start();
    world.pass(1'100);
    EXPECT_EQ(replica.open(), 1U);
}

TEST_F(ConnectionsAhead, AreAskedWhereTheyAreIdle) {
    world.worker();
    world.pass(150);
    primary.forget();
    replica.forget();
    world.pass(60'000);
    EXPECT_NEAR(static_cast<double>(primary.commands("ping").size()), 5.5, 0.5);
    EXPECT_NEAR(static_cast<double>(replica.commands("ping").size()), 5.5, 0.5);
    EXPECT_EQ(world.logged("."), 0U);
}

/// A device between the machines has forgotten the connections.
TEST_F(ConnectionsAhead, AreReplacedBeforeARequestNeedsThem) {
    world.worker();
    world.pass(5'000);
    EXPECT_EQ(world.ask("k"), "PASSED");
    forgotten = 1;
    world.pass(12'000);
    EXPECT_EQ(replica.connections(), 2U);
    EXPECT_EQ(primary.connections(), 2U);
    world.forget_lines();
    EXPECT_EQ(world.admitted(10, "k"), 10U);
    EXPECT_EQ(world.logged("could not be checked"), 0U);
}

}  // namespace
}  // namespace rate_limit::world::connections_ahead_test
