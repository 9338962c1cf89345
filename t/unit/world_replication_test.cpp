#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "redis/command.h"
#include "t/unit/world_client.h"

namespace rate_limit::world::world_replication_test {
namespace {

class WorldReplication : public ::testing::Test {
protected:
    WorldReplication() {
        primary.server.on_write([this](const Effect& effect) { effects.push_back(effect); });
        replica.server.state.role = ServerRole::replica;
    }

    void follow() {
        for (const Effect& effect : std::exchange(effects, {})) {
            replica.server.apply(effect);
        }
    }

    ServerAt primary;
    ServerAt replica;
    TestClient writer{primary.server};
    TestClient reader{replica.server};
    std::vector<Effect> effects;
};

TEST_F(WorldReplication, FollowsWithLag) {
    EXPECT_EQ(writer("HINCRBY k used 3"), ":3");
    EXPECT_EQ(writer("SELECT 1"), "+OK");
    EXPECT_EQ(writer("SET k v PX 5000"), "+OK");
    EXPECT_EQ(reader("HGETALL k"), "*0");
    follow();
    EXPECT_EQ(reader("HGETALL k"), "*2 $4 used $1 3");
    reader("SELECT 1");
    EXPECT_EQ(reader("GET k"), "$1 v");
    replica.pass(1000);
    EXPECT_EQ(reader("PTTL k"), ":4000") << "it got an instant, and has a clock of its own";
}

TEST_F(WorldReplication, GetsWhatAScriptDidAtOnce) {
    writer.session().receive(CommandWriter().load(script(ScriptName::charge)));
    writer.session().take_replies();
    writer("EVALSHA " + std::string(script(ScriptName::charge).digest()) +
           " 1 k 5 1700000000000 1700000060000 1700000120000");
    ASSERT_EQ(effects.size(), 1U);
    EXPECT_EQ(
        TestClient::line(effects[0].commands),
        "*6 $4 HSET $1 k $4 used $1 5 $5 reset $13 1700000060000 *3 $9 PEXPIREAT $1 k $13 1700000061000");
    follow();
    EXPECT_EQ(reader("HMGET k used reset"), "*2 $1 5 $13 1700000060000");
}

TEST_F(WorldReplication, TellsNothingOfWhatChangesNothing) {
    for (const char* words : {"DEL k", "HDEL k f", "PEXPIRE k 100", "PERSIST k", "GET k", "HINCRBY k f x",
                              "SET k v XX", "BITFIELD k GET u8 0", "EVAL x 0"}) {
        writer(words);
        EXPECT_TRUE(effects.empty()) << words;
    }
}

TEST_F(WorldReplication, LeavesExpiryToThePrimary) {
    writer("SET k v PX 100");
    follow();
    replica.pass(101);
    EXPECT_EQ(reader("GET k"), "$-1") << "hidden";
    EXPECT_EQ(reader("DBSIZE"), ":1") << "and kept";
    writer("PERSIST k");
    follow();
    EXPECT_EQ(reader("GET k"), "$1 v") << "for the primary's clock is the one that counts";
    writer("PEXPIRE k 100");
    primary.pass(101);
    EXPECT_EQ(writer("EXISTS k"), ":0");
    ASSERT_EQ(effects.size(), 2U);
    EXPECT_EQ(TestClient::line(effects[1].commands), "*2 $3 DEL $1 k");
    follow();
    EXPECT_EQ(reader("DBSIZE"), ":0");
}

TEST_F(WorldReplication, DeletesWhatNobodyAsksFor) {
    for (const char* key : {"b", "a", "c"}) {
        writer("SET " + std::string(key) + " v PX 100");
    }
    writer("SET d v");
    effects.clear();
    primary.pass(101);
    primary.server.delete_expired();
    EXPECT_EQ(writer("DBSIZE"), ":1");
    ASSERT_EQ(effects.size(), 1U);
    EXPECT_EQ(TestClient::line(effects[0].commands), "*2 $3 DEL $1 a *2 $3 DEL $1 b *2 $3 DEL $1 c");
}

TEST_F(WorldReplication, StartsWithAllThatThePrimaryHas) {
    writer("HSET h a 1 b 2");
    writer("SET s v PX 1000");
    effects.clear();
    const Databases snapshot = primary.server.snapshot();
    writer("HSET h a 3");
    replica.server.load(snapshot);
    EXPECT_EQ(reader("HGETALL h"), "*4 $1 a $1 1 $1 b $1 2");
    EXPECT_EQ(reader("PTTL s"), ":1000");
    follow();
    EXPECT_EQ(reader("HGET h a"), "$1 3");
    replica.server.clear();
    EXPECT_EQ(reader("DBSIZE"), ":0");
}

TEST_F(WorldReplication, LosesAtAFailoverWhatHasNotArrived) {
    writer("HINCRBY k used 3");
    follow();
    writer("HINCRBY k used 4");
    effects.clear();
    replica.server.state.role = ServerRole::primary;
    primary.server.state.role = ServerRole::replica;
    EXPECT_EQ(reader("HINCRBY k used 1"), ":4");
    EXPECT_EQ(writer("HINCRBY k used 1"), "-READONLY You can't write against a read only replica.");
}

}  // namespace
}  // namespace rate_limit::world::world_replication_test
