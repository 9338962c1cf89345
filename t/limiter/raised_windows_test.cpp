// A charge that a primary has confirmed in `check_charge`, and that a failover has lost, is there again once
// a machine that knew of it charges the window.

#include <string>
#include <utility>

#include "limiter/store/awaited_refund.h"
#include "limiter/store/store.h"
#include "t/limiter/scenario.h"
#include "t/world/cluster.h"
#include "t/world/sentinel.h"

namespace rate_limit::world::raised_windows_test {
namespace {

const std::string key = stored_key("k");

/// A primary and its replica.
class Pair : public testing::Test {
protected:
    explicit Pair(const std::string& mode = "check_charge", bool replicates = true)
        : world({"default", "1000r/h", mode}) {
        if (replicates) {
            former.replicate_to(next);
        }
    }

    /// So many requests pass, and the primary has charged them: `used` in all.
    void charge(std::size_t requests, std::int64_t used, WorkerProcess* worker = nullptr) {
        ASSERT_EQ(world.admitted(requests, "k", worker), requests);
        world.pass(10);
        ASSERT_EQ(former.used(key), used);
    }

    /// The writes of the primary from now on are lost.
    void part() { former.stop_replicating_to(next); }

    void promote() {
        part();
        next.server().state.role = ServerRole::primary;
    }

    bool comes_to(std::int64_t used) {
        return world.until([&] { return next.used(key) == used; });
    }

    std::uint64_t raised() { return counted(world, Write::raised); }

    Scenario world;
    Redis former{world.events, world.network, Scenario::primary_address};
    Redis next{world.events, world.network, Scenario::replica_address};
};

/// A sentinel says which of the two is the primary.
class RaisedWindows : public Pair {
protected:
    explicit RaisedWindows(const std::string& mode = "check_charge") : Pair(mode) {
        StoreSetup& store = world.setup.stores.front();
        store.shards = {{"a", "", {}, "m"}};
        store.sentinels = {sentinel.address()};
        sentinel.watch("m").primary = former.address();
        world.worker();
        EXPECT_TRUE(world.until([&] { return world.ask("first") == "PASSED"; }));
    }

    /// All workers of all machines know the next primary afterwards.
    void fail_over() {
        promote();
        sentinel.watch("m").primary = next.address();
        ++sentinel.watch("m").epoch;
        EXPECT_TRUE(world.until([&] { return world.logged("sentinels name " + next.address()) != 0; }));
        world.pass(2'000);
    }

    Sentinel sentinel{world.network, "10.0.1.1:26379"};
};

TEST_F(RaisedWindows, HaveWhatTheirFormerPrimaryConfirmed) {
    charge(1, 1);
    part();
    charge(2, 3);
    fail_over();
    ASSERT_EQ(next.used(key), 1);
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(comes_to(4));
    EXPECT_EQ(raised(), 1U);
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(comes_to(5));
    EXPECT_EQ(raised(), 1U);
}

TEST_F(RaisedWindows, AreThereAgainWithTheirEnd) {
    part();
    charge(3, 3);
    const Millis reset = former.window(key).reset;
    fail_over();
    ASSERT_EQ(next.used(key), 0);
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(comes_to(4));
    EXPECT_EQ(next.window(key).reset, reset);
    EXPECT_EQ(raised(), 1U);
}

TEST_F(RaisedWindows, AreNotRaisedWhereNothingIsLost) {
    charge(3, 3);
    fail_over();
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(comes_to(4));
    EXPECT_EQ(raised(), 0U);
}

TEST_F(RaisedWindows, AreKnownToAllWorkersOfTheMachine) {
    part();
    charge(3, 3, &world.worker(1));
    fail_over();
    EXPECT_EQ(world.ask("k", &world.worker(0)), "PASSED");
    EXPECT_TRUE(comes_to(4));
}

/// The second machine was told less. What is charged between is lost at most, and nothing counts twice.
TEST_F(RaisedWindows, HaveTheMostThatAMachineWasTold) {
    WorkerProcess& other = world.worker(0, 1);
    part();
    charge(1, 1, &other);
    charge(2, 3);
    fail_over();
    EXPECT_EQ(world.ask("k", &other), "PASSED");
    EXPECT_TRUE(comes_to(2));
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(comes_to(4));
    EXPECT_EQ(world.ask("k", &other), "PASSED");
    EXPECT_TRUE(comes_to(5));
}

TEST_F(RaisedWindows, HaveWhatHasWaitedBesides) {
    part();
    charge(3, 3);
    former.kill(true);
    world.pass(10);
    EXPECT_EQ(world.admitted(2, "k"), 2U);
    world.pass(1'000);
    fail_over();
    EXPECT_TRUE(comes_to(5));
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(comes_to(6));
    EXPECT_EQ(raised(), 1U);
}

TEST_F(RaisedWindows, HaveWhatAPrimaryConfirmedBeforeItWasAway) {
    part();
    charge(3, 3);
    former.kill(true);
    world.pass(10);
    EXPECT_EQ(world.admitted(1, "k"), 1U);
    world.pass(30'000);
    fail_over();
    EXPECT_TRUE(comes_to(4));
}

TEST_F(RaisedWindows, AreNotRaisedToWhatWasConfirmedLongBefore) {
    part();
    charge(3, 3);
    world.pass(Confirmations::may_be_lost + 1);
    fail_over();
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(comes_to(1));
    world.pass(1'000);
    EXPECT_EQ(next.used(key), 1);
}

TEST_F(RaisedWindows, AreRaisedAfterTwoFailoversInARow) {
    part();
    charge(3, 3);
    fail_over();
    Redis third(world.events, world.network, "10.0.0.3:6379");
    next.replicate_to(third);
    next.stop_replicating_to(third);
    third.server().state.role = ServerRole::primary;
    sentinel.watch("m").primary = third.address();
    ++sentinel.watch("m").epoch;
    world.pass(12'000);
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(world.until([&] { return third.used(key) == 4; }));
    EXPECT_TRUE(world.stop_all());
}

/// Another machine has opened a window that ends later.
TEST_F(RaisedWindows, ThatHaveGivenWayToOthersAreTold) {
    WorkerProcess& other = world.worker(0, 1);
    part();
    charge(3, 3);
    world.pass(100);
    fail_over();
    EXPECT_EQ(world.ask("k", &other), "PASSED");
    EXPECT_TRUE(comes_to(1));
    const Millis reset = next.window(key).reset;
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(comes_to(2));
    EXPECT_EQ(next.window(key).reset, reset);
    EXPECT_EQ(raised(), 0U);
    EXPECT_EQ(counted(world, Loss::not_raised), 1U);
    EXPECT_EQ(world.logged(
                  "1 windows for the primary of shard \"a\" of \"main\" were others than a former primary"),
              1U);
}

class Operator final : public Answer::Owner {
    void on_answer(Answer& /*answer*/) noexcept override {}
};

TEST_F(RaisedWindows, AreNotRaisedAfterAnOperatorHasGivenBack) {
    part();
    ClientRequest& asks = world.begin("k");
    world.pass(5);
    const WindowId id = asks.applied(0).id;
    asks.end();
    charge(2, 3);
    WorkerProcess& worker = world.worker();
    Operator waits;
    AwaitedRefund refund;
    worker.loop().turn([&] {
        GivingBack what;
        what.id = id;
        what.rate = {1000, 3600};
        what.cost = GivingBack::all_of_it;
        what.reset = former.window(key).reset;
        Shard& shard = live_store(*worker.configuration().stores.front())->at(0);
        refund.start(shard, key, what, waits);
    });
    world.pass(10);
    ASSERT_EQ(former.used(key), 0);
    fail_over();
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(comes_to(1));
    world.pass(1'000);
    EXPECT_EQ(next.used(key), 1);
    EXPECT_TRUE(world.stop_all());
}

/// A refund is known only to the machine that has given it back.
class WindowsThatAreRefunded : public RaisedWindows {
protected:
    WindowsThatAreRefunded() : RaisedWindows("charge_refund") {}
};

TEST_F(WindowsThatAreRefunded, AreNotRaised) {
    part();
    charge(3, 3);
    fail_over();
    EXPECT_EQ(world.ask("k"), "PASSED");
    world.pass(1'000);
    EXPECT_EQ(next.used(key), 1);
    EXPECT_EQ(raised(), 0U);
}

/// The configuration knows both, by the name of the primary, which leads to the next one, or by an address at
/// which that is found.
class MovedPrimary : public Pair {
protected:
    void expect_raised() {
        ASSERT_EQ(next.used(key), 0);
        EXPECT_TRUE(world.until(
            [&] { return world.ask("other") == "PASSED" && next.used(stored_key("other")) != 0; }));
        const std::int64_t waiting = next.used(key);  // what was asked for meanwhile
        EXPECT_EQ(waiting, 0);
        EXPECT_EQ(world.ask("k"), "PASSED");
        EXPECT_TRUE(comes_to(4));
        EXPECT_EQ(raised(), 1U);
    }
};

TEST_F(MovedPrimary, IsToldWhereItsNameLeadsToIt) {
    world.network.lead("db", "10.0.0.1");
    world.setup.stores.front().shards = {{"a", "db:6379"}};
    part();
    charge(3, 3);
    promote();
    world.network.lead("db", "10.0.0.2");
    former.kill(true);
    expect_raised();
}

/// The other worker's connection leads to the former one still, which confirms more to it.
TEST_F(MovedPrimary, IsToldWhatAnotherWorkerHeardLater) {
    std::size_t ends = 0;  // the connection of this number
    Scripted address(world.events, world.network, "10.0.0.7:6379",
                     relaying(former, [&ends](const Command&, ScriptedClient& client, std::string answer) {
                         return client.number() == ends ? client.reset() : ScriptedReply(std::move(answer));
                     }));
    world.network.lead("db", "10.0.0.7");
    world.setup.stores.front().shards = {{"a", "db:6379"}};
    part();
    charge(1, 1, &world.worker(0));
    charge(1, 2, &world.worker(1));
    promote();
    world.network.lead("db", "10.0.0.2");
    ends = 1;
    ASSERT_TRUE(world.until([&] {
        return world.ask("other", &world.worker(0)) == "PASSED" && next.used(stored_key("other")) != 0;
    }));
    charge(1, 3, &world.worker(1));
    EXPECT_EQ(world.ask("k", &world.worker(0)), "PASSED");
    EXPECT_TRUE(comes_to(4));
}

TEST_F(MovedPrimary, IsToldAfterReadonly) {
    Redis* to = &former;
    Scripted address(world.events, world.network, "10.0.0.7:6379",
                     relaying_to(to, [](const Command&, ScriptedClient&, std::string answer) {
                         return ScriptedReply(std::move(answer));
                     }));
    world.setup.stores.front().shards = {{"a", address.address(), {"10.0.0.2:6379"}}};
    part();
    charge(3, 3);
    former.server().state.role = ServerRole::replica;
    promote();
    (void)world.ask("first");
    EXPECT_TRUE(world.until([&] { return world.logged("READONLY") != 0; }));
    to = &next;
    address.drop();
    expect_raised();
    EXPECT_TRUE(world.stop_all());
}

class RaisedInACluster : public Pair {
protected:
    RaisedInACluster() : Pair("check_charge", false) {
        StoreSetup& store = world.setup.stores.front();
        store.shards.clear();
        store.seeds = {former.address(), other.address()};
        world.worker();
        world.pass(100);
    }

    LostWrites lost;
    Redis other{world.events, world.network, "10.0.0.3:6379"};
    ReplicaSet first{{&former, &next}, lost};
    ReplicaSet second{{&other}, lost};
    Cluster cluster{{&first, &second}, 2};
};

TEST_F(RaisedInACluster, HaveWhatTheirFormerPrimaryConfirmed) {
    charge(1, 1);
    first.replication_to(next)->stall(true);
    charge(2, 3);
    former.link().silent = true;
    former.vanish();
    cluster.promote(first, next);
    cluster.tell(other);
    ASSERT_EQ(next.used(key), 1);
    ASSERT_EQ(lost.of(key).taken, 2);
    EXPECT_TRUE(world.until([&] { return world.ask("k") == "PASSED" && next.used(key) >= 4; }));
    world.pass(10'000);
    EXPECT_EQ(counted(world, Write::raised, "cluster"), 1U);
}

/// A node that goes on for a while says where the slot is by then.
TEST_F(RaisedInACluster, AreRaisedWhereAnotherNodeNamesTheNext) {
    first.replication_to(next)->stall(true);
    charge(3, 3);
    cluster.promote(first, next);
    cluster.tell(former);
    ASSERT_EQ(next.used(key), 0);
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_TRUE(comes_to(4));
    EXPECT_EQ(counted(world, Write::raised, "cluster"), 1U);
}

}  // namespace
}  // namespace rate_limit::world::raised_windows_test
