// Servers that are found elsewhere, or not by every machine: a name that leads to another address, and a
// network in two parts.

#include <string>

#include "t/limiter/scenario.h"

namespace rate_limit::world::moved_servers_test {
namespace {

const std::string other_address = "10.0.0.9:6379";

/// A primary that the configuration calls by the name of its host.
class NamedPrimary : public testing::Test {
protected:
    NamedPrimary() {
        world.network.lead("db", "10.0.0.1");
        world.setup.stores.front().shards = {{"a", "db:6379"}};
        world.setup.on_error = OnError::deny;
    }

    void move() {
        world.network.move(Scenario::primary_address, other_address);
        primary.reset_connections();
    }

    bool passes_within(Msec time) {
        return world.until([this] { return world.ask("k") == "PASSED"; }, time);
    }

    Scenario world{{"default", "1000r/h", "charge_refund"}};
    Redis primary{world.events, world.network, Scenario::primary_address};
};

TEST_F(NamedPrimary, IsFoundWhereItsNameLeads) {
    EXPECT_EQ(world.ask("k"), "PASSED");
    move();
    world.network.lead("db", "10.0.0.9");
    EXPECT_TRUE(passes_within(5'000));
    EXPECT_EQ(primary.used(stored_key("k")), 2);
}

TEST_F(NamedPrimary, IsFoundOnceItsNameLeadsThere) {
    EXPECT_EQ(world.ask("k"), "PASSED");
    move();
    EXPECT_FALSE(passes_within(3'000));
    world.network.lead("db", "10.0.0.9");
    EXPECT_TRUE(passes_within(20'000)) << "two pauses between tries";
}

/// A request does not wait for the name server: it may take a new connection to the server that a name has
/// just left. When the answer names another one, that connection is left for it, also while it is being made
/// or greeted, and nothing is lost.
TEST(AServerThatItsNameHasLeft, IsLeft) {
    for (const std::string connection : {"in use", "greeted", "being made"}) {
        SCOPED_TRACE(connection);
        Scenario world({"default", "1000r/h", "charge_refund"}, 10'000);
        world.network.lead("db", "10.0.0.1");
        world.setup.stores.front().shards = {{"a", "db:6379"}};
        world.setup.on_error = OnError::deny;
        const bool slow = false;
        bool mute = false;
        Scripted old(world.events, world.network, Scenario::primary_address,
                     [&, serves = reserving(world.at(1'800'000), slow)](
                         const Command& words, ScriptedClient& client) -> ScriptedReply {
                         return mute && words[0] == "ping" ? no_reply() : serves(words, client);
                     });
        Redis next(world.events, world.network, other_address);
        EXPECT_EQ(world.ask("before"), "PASSED");
        old.forget();
        world.network.lead("db", "10.0.0.9");
        world.network.name_server = 1'000'000;
        mute = connection == "greeted";
        old.link().silent_there = connection == "being made";
        old.drop();
        world.pass(2);
        if (connection == "in use") {
            EXPECT_EQ(world.ask("there"), "PASSED");
        }
        const ClientRequest* meanwhile = connection != "in use" ? &world.begin("meanwhile") : nullptr;
        world.pass(900);
        EXPECT_EQ(old.connections(), connection == "being made" ? 1U : 2U);
        EXPECT_TRUE(meanwhile == nullptr || !meanwhile->is_decided());
        world.pass(200);
        meanwhile = meanwhile != nullptr ? meanwhile : &world.begin("meanwhile");
        world.pass(10);
        EXPECT_EQ(outcome(*meanwhile), "PASSED");
        EXPECT_EQ(world.ask("after"), "PASSED");
        for (const char* key : {"meanwhile", "after"}) {
            EXPECT_EQ(next.used(stored_key(key)), 1) << key;
        }
        EXPECT_EQ(old.writes().size(), connection == "in use" ? 1U : 0U);
        EXPECT_TRUE(world.stop_all());
        EXPECT_EQ(world.logged("is down|does not serve|could not be checked|doubt|dropped"), 0U);
    }
}

/// When it serves again, the charges that wait do not go to it, but to the server that the name leads to.
TEST(AServerThatItsNameHasLeft, GetsNothingOfWhatWaited) {
    Scenario world({"default", "1000r/h"}, 9'000);
    world.network.lead("db", "10.0.0.1");
    world.setup.stores.front().shards = {{"a", "db:6379"}};
    bool loading = false;
    Scripted old(
        world.events, world.network, Scenario::primary_address,
        [&, takes = taking(world.at(1'800'000), [](std::size_t, ScriptedClient&, const std::string& taken) {
                return taken;
            })](const Command& words, ScriptedClient& client) -> ScriptedReply {
            return loading && (words[0] == "evalsha" || words[0] == "ping")
                       ? error("LOADING Redis is loading the dataset in memory")
                       : takes(words, client);
        });
    Redis next(world.events, world.network, other_address);
    EXPECT_EQ(world.ask("before"), "PASSED");
    world.pass(100);
    world.network.lead("db", "10.0.0.9");
    world.network.name_server = 50'000;
    old.drop();
    world.pass(2);
    EXPECT_EQ(world.ask("there"), "PASSED") << "over a new connection";
    world.pass(10);
    EXPECT_EQ(old.writes().size(), 2U);
    loading = true;
    EXPECT_EQ(world.ask("waits"), "PASSED");
    world.pass(10);
    EXPECT_EQ(world.logged("does not serve: loading"), 1U);
    world.pass(50);
    old.forget();
    loading = false;
    EXPECT_TRUE(world.until([&next] { return next.used(stored_key("waits")) == 1; }));
    EXPECT_EQ(old.writes().size(), 0U);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("doubt|dropped"), 0U);
}

/// A reload replaces a shard: windows that memory knows from the old one soon start anew at the new one, and
/// what waits for the old one is not counted there. It goes to the old one if a reload brings that back.
TEST(AReplacedShard, IsNotChargedForTheNext) {
    Scenario world({"default", "5r/h"});
    Redis first(world.events, world.network, Scenario::primary_address);
    Redis second(world.events, world.network, other_address);
    const auto lead_to = [&world](const char* name, const Redis& server) {
        world.setup.stores.front().shards = {{name, server.address()}};
        world.reload();
        world.pass(1'000);
    };
    const auto admitted = [&world](std::size_t count, const char* key) {
        return world.admitted(count, RequestSetup(key).or_else(OnError::local));
    };
    EXPECT_EQ(admitted(6, "full"), 5U);
    EXPECT_EQ(admitted(2, "part"), 2U);
    world.pass(1'000);
    first.kill(true);
    world.pass(10);
    EXPECT_EQ(admitted(5, "part"), 3U) << "while the shard is away";
    lead_to("b", second);
    for (const char* key : {"part", "full"}) {
        ASSERT_TRUE(world.until([&] { return admitted(1, key) == 1; }));
        EXPECT_EQ(admitted(5, key), 4U) << "as many as ever";
        world.pass(100);
        EXPECT_EQ(second.used(stored_key(key)), 5);
    }
    lead_to("a", first);
    EXPECT_EQ(admitted(1, "other"), 1U) << "it is away";
    first.start();
    EXPECT_TRUE(world.until(
        [&] { return first.used(stored_key("part")) == 5 && first.used(stored_key("other")) == 1; }));
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(second.used(stored_key("part")), 5);
    EXPECT_EQ(second.used(stored_key("full")), 5);
    EXPECT_EQ(world.logged("are lost"), 0U);
}

/// One of two machines does not reach the primary, and nobody is told. The other one goes on.
TEST(AMachineThatIsParted, IsAlone) {
    Scenario world({"default", "1000r/h", "charge_refund"});
    world.setup.on_error = OnError::deny;
    Redis primary(world.events, world.network, Scenario::primary_address);
    WorkerProcess& parted = world.worker(0, 0);
    WorkerProcess& other = world.worker(0, 1);
    EXPECT_EQ(world.ask("k", &parted), "PASSED");
    EXPECT_EQ(world.ask("k", &other), "PASSED");
    world.network.path(0, Scenario::primary_address).parted = true;
    EXPECT_NE(world.ask("k", &parted), "PASSED");
    EXPECT_EQ(world.ask("k", &other), "PASSED");
    EXPECT_EQ(primary.used(stored_key("k")), 3);
    world.network.path(0, Scenario::primary_address).parted = false;
    EXPECT_TRUE(world.until([&] { return world.ask("k", &parted) == "PASSED"; }, 5'000));
}

}  // namespace
}  // namespace rate_limit::world::moved_servers_test
