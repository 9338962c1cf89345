// Reads go to the replicas that answer quickly, and to others where these do not.

#include <string>
#include <vector>

#include "t/limiter/checked.h"

namespace rate_limit::world::nearest_replica_test {
namespace {

constexpr Micros far_away = 30'000;  // each way

/// A replica near this machine and one far from it; the primary is far, too.
class NearestReplica : public testing::Test {
protected:
    NearestReplica() {
        StoreSetup& store = world.setup.stores.front();
        store.fresh = 0;
        store.shards.front().replicas = {"10.0.1.1:6379", "10.0.1.2:6379"};
        place(primary, far_away);
        place(far, far_away);
    }

    static void place(Scripted& server, Micros each_way) {
        server.link().there = each_way;
        server.link().back = each_way;
    }

    ScriptedReply answer(const Command& words) const {
        if (words[0] == "hmget") {
            return hmget(1, reset);
        }
        return is_write(words) ? ScriptedReply(integers({1, reset})) : fallback(words);
    }

    /// One request each `pause` milliseconds, for so long.
    void ask_for(Msec time, Msec pause = 5) {
        near.forget();
        far.forget();
        primary.forget();
        for (Msec passed = 0; passed < time; passed += pause) {
            world.begin("k");
            world.pass(pause);
        }
        world.pass(200);
    }

    /// The worker comes, and finds out how near the replicas are.
    void start() {
        world.worker();
        world.pass(500);
        ask_for(500);
    }

    std::size_t reads(const Scripted& server) const { return server.commands("hmget").size(); }

    Scenario world{{"default", "100000r/h"}};
    const Millis reset = world.at(1'800'000);
    const Handler handler = [this](const Command& words, ScriptedClient&) { return answer(words); };
    Scripted primary{world.events, world.network, Scenario::primary_address, handler};
    Scripted near{world.events, world.network, "10.0.1.1:6379", handler};
    Scripted far{world.events, world.network, "10.0.1.2:6379", handler};
};

TEST_F(NearestReplica, IsReadAlone) {
    world.worker();
    world.pass(500);
    ask_for(2'000);
    EXPECT_EQ(reads(near), 400U);
    EXPECT_EQ(reads(far), 0U);
    EXPECT_EQ(reads(primary), 0U);
}

TEST_F(NearestReplica, IsNotAlwaysTheFirst) {
    place(near, far_away);
    place(far, 100);
    world.worker();
    world.pass(500);
    ask_for(2'000);
    EXPECT_EQ(reads(near), 0U);
    EXPECT_EQ(reads(far), 400U);
}

TEST_F(NearestReplica, SharesWithOneThatIsAsNear) {
    place(far, 200);  // 0.4 ms in all, where the near one takes 0.2
    world.worker();
    world.pass(500);
    ask_for(2'000);
    EXPECT_NEAR(static_cast<double>(reads(near)), 200, 20);
    EXPECT_NEAR(static_cast<double>(reads(far)), 200, 20);
}

TEST_F(NearestReplica, IsNoMatterWhereReadsSpread) {
    world.setup.stores.front().read_from = StoreConf::ReadFrom::spread;
    place(far, 10'000);
    world.worker();
    world.pass(500);
    ask_for(2'000);
    EXPECT_NEAR(static_cast<double>(reads(near)), 200, 100);
    EXPECT_NEAR(static_cast<double>(reads(far)), 200, 100);
    EXPECT_EQ(reads(near) + reads(far), 400U);
}

/// The other one is looked at: a PING a second at most, beside the reads.
TEST_F(NearestReplica, FollowsOneThatMoves) {
    world.worker();
    world.pass(500);
    ask_for(1'000);
    place(near, far_away);
    place(far, 100);
    ask_for(2'000);
    ask_for(1'000);
    EXPECT_EQ(reads(near), 0U);
    EXPECT_EQ(reads(far), 200U);
    EXPECT_LE(near.commands("ping").size() + far.commands("ping").size(), 2U);
}

TEST_F(NearestReplica, GivesWayAtOnceWhereItDies) {
    start();
    near.stop();
    ask_for(500);
    EXPECT_EQ(reads(far), 100U);
    near.start();
    world.pass(2'000);  // one try a second
    ask_for(1'000);
    EXPECT_EQ(reads(near), 200U);
    EXPECT_EQ(reads(far), 0U);
}

/// It is not down yet, and a read of the far one is quicker than what it has kept waiting.
TEST_F(NearestReplica, GivesWayWhereItIsSilentForLongerThanTheFarOneTakes) {
    place(far, 5'000);
    start();
    near.link().silent = true;
    near.forget();
    far.forget();
    for (int request = 0; request < 16; ++request) {  // within check_timeout
        world.begin("k");
        world.pass(5);
    }
    EXPECT_GE(reads(far), 12U);
}

/// One command at a time is measured; the one that waits was sent while another one was.
TEST_F(NearestReplica, GivesWayWhereItFallsSilentAfterItHasAnsweredWhatWasMeasured) {
    place(near, 5'000);
    place(far, 5'000);
    start();
    near.forget();
    far.forget();
    near.handler = [this](const Command& words, ScriptedClient&) {
        return words[0] == "hmget" && reads(near) > 1 ? hold("gate", hmget(1, reset)) : answer(words);
    };
    for (int request = 0; request < 6; ++request) {
        world.begin("k");
        world.pass(1);
    }
    world.pass(20);  // what it has answered was measured
    EXPECT_EQ(reads(near), 3U);
    near.forget();
    for (int request = 0; request < 10; ++request) {
        world.begin("k");
        world.pass(2);
    }
    EXPECT_EQ(reads(near), 0U);
}

/// The far one is asked while its answer still comes before the end of check_timeout.
TEST_F(NearestReplica, FailsNoRequestWhereItFallsSilentAndTheFarOneTakesMoreThanHalfOfCheckTimeout) {
    start();
    near.link().silent = true;
    ask_for(1'000);
    EXPECT_EQ(world.logged("could not be checked"), 0U);
    EXPECT_EQ(reads(far), 200U);
}

TEST_F(NearestReplica, IsAskedAsWellWhereReadsSpread) {
    world.setup.stores.front().read_from = StoreConf::ReadFrom::spread;
    world.worker();
    world.pass(500);
    world.forget_lines();
    for (int request = 0; request < 20; ++request) {
        const ClientRequest& asking = world.begin("k");
        world.pass(100);
        EXPECT_LE(asking.waited(), 35U) << "a third of check_timeout";
    }
    EXPECT_EQ(reads(near), 20U);
}

TEST_F(NearestReplica, IsFoundAgainAfterItWasSlowForAMoment) {
    place(far, 5'000);
    start();
    place(near, 40'000);
    ask_for(300);
    place(near, 100);
    ask_for(2'000);
    ask_for(500);
    EXPECT_EQ(reads(near), 100U);
    EXPECT_EQ(reads(far), 0U);
}

/// It is asked by few reads after that: nobody looks how far it is.
TEST_F(NearestReplica, IsReadAgainWithin2sWhereItWasLongToGreet) {
    start();
    near.stop();
    ask_for(100);
    near.handler = [this](const Command& words, ScriptedClient&) {
        return words[0] == "ping" ? later(700'000, fallback(words))
                                  : answer(words);  // its machine stands still
    };
    near.start();
    EXPECT_TRUE(world.until([this] { return !near.commands("ping").empty(); }));
    near.handler = handler;
    world.pass(2'000);
    ask_for(1'000, 20);
    EXPECT_EQ(reads(near), 50U);
}

/// It was never down: what was lost was its connection alone, and the next one was made in time.
TEST_F(NearestReplica, IsReadAgainWithin2sWhereItWasLongToGreetOnAnotherConnection) {
    start();
    near.forget();
    near.handler = [this](const Command& words, ScriptedClient&) {
        return words[0] == "ping" ? later(700'000, fallback(words)) : answer(words);
    };
    near.drop();
    EXPECT_TRUE(world.until([this] { return !near.commands("ping").empty(); }));
    near.handler = handler;
    world.pass(2'000);
    EXPECT_EQ(world.logged("does not serve"), 0U);
    ask_for(1'000, 20);
    EXPECT_EQ(reads(near), 50U);
}

TEST_F(NearestReplica, IsReadAgainWithin2sWhereItsLinkWasSilent) {
    world.worker();
    world.pass(500);
    for (const Msec time : {150U, 400U, 700U, 900U}) {
        ask_for(500);
        near.link().silent = true;
        for (Msec passed = 0; passed < time; passed += 50) {
            world.begin("k");
            world.pass(50);
        }
        near.link().silent = false;
        world.pass(2'000);
        ask_for(1'000, 20);
        EXPECT_EQ(reads(near), 50U) << "after " << time << " ms";
    }
}

/// Another connection was made beside the one on which it was silent.
TEST_F(NearestReplica, IsReadAgainWhereItsFormerConnectionIsAnsweredLate) {
    start();
    near.handler = [this](const Command& words, ScriptedClient& client) {
        const bool held = words[0] == "hmget" && client.number() == 1;
        return held ? hold("gate", hmget(1, reset)) : answer(words);
    };
    world.begin("k");
    world.pass(600);
    EXPECT_EQ(near.open(), 2U);
    near.release("gate");
    world.pass(1'400);
    ask_for(1'000, 20);
    EXPECT_EQ(reads(near), 50U);
}

/// The next read finds it as soon as it is measured, whatever was found just before.
TEST_F(NearestReplica, IsReadAgainAsSoonAsItIsMeasured) {
    start();
    near.stop();
    ask_for(3'000);
    place(near, 2'000);
    near.start();
    EXPECT_TRUE(world.until([this] {
        world.begin("k");
        return near.open() != 0;
    }));
    for (int request = 0; request < 30; ++request) {  // while it is greeted, and measured
        world.begin("k");
        world.pass(1);
    }
    world.pass(10);  // the last one is answered
    ask_for(200);
    EXPECT_EQ(reads(near), 40U);
}

/// Its connection ends, and where it was nobody answers any more, as when a virtual machine has gone.
TEST_F(NearestReplica, GivesWayWhereNoNewConnectionIsMade) {
    place(far, 5'000);
    start();
    near.drop();
    world.pass(1);
    near.link().silent = true;
    world.pass(1);
    far.forget();
    for (int request = 0; request < 100; ++request) {
        world.begin("k");
        world.pass(5);
    }
    EXPECT_GE(reads(far), 96U) << "within the time in which it may still be connected";
    EXPECT_EQ(world.logged("could not be checked"), 0U);
}

/// Nobody waits for a connection where another one is about as near.
TEST_F(NearestReplica, LeavesItsReadsToOneThatIsAsNearUntilItIsConnectedAgain) {
    place(near, 20'000);
    place(far, 20'000);
    start();
    near.drop();
    world.pass(30);  // its end comes
    for (int request = 0; request < 40; ++request) {
        const ClientRequest& asking = world.begin("k");
        world.pass(50);
        EXPECT_LE(asking.waited(), 41U);
    }
    ask_for(1'000);
    EXPECT_NEAR(static_cast<double>(reads(near)), 100, 10);
}

/// Two that are about as near take turns as the bound falls between them; each keeps its part for a second.
TEST_F(NearestReplica, NeverChangesMoreThanOnceASecond) {
    world.worker();
    world.pass(500);
    std::size_t changes = 0;
    bool far_was_read = false;
    for (int slice = 0; slice < 200; ++slice) {
        place(far, slice % 2 == 0 ? 250 : 1'000);  // near, and not
        near.forget();
        far.forget();
        for (int request = 0; request < 10; ++request) {
            world.begin("k");
            world.pass(5);
        }
        const bool far_is_read = reads(far) != 0;
        changes += far_is_read != far_was_read ? 1 : 0;
        far_was_read = far_is_read;
    }
    EXPECT_LE(changes, 10U);  // in ten seconds
}

}  // namespace
}  // namespace rate_limit::world::nearest_replica_test
