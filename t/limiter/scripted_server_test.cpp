// The scripted server of the scenarios itself.

#include <string>

#include "t/limiter/scenario.h"

namespace rate_limit::world::scripted_server_test {
namespace {

TEST(ScriptedServer, AnswersWhatTheTestWants) {
    Scenario world({"default", "5r/h"});
    Scripted primary(world.events, world.network, Scenario::primary_address, reading(5, world.at(60'000)));
    EXPECT_EQ(world.ask("client"), "REJECTED");
    EXPECT_EQ(primary.commands("hmget"),
              (std::vector<Command>{{"hmget", stored_key("client"), "used", "reset"}}));
}

TEST(ScriptedServer, KeepsWhatIsBehindAGate) {
    Scenario world({"default", "5r/h"}, 9'000);
    Scripted primary(world.events, world.network, Scenario::primary_address, holding_reads());
    const ClientRequest& one = world.begin("one");
    const ClientRequest& other = world.begin("other");
    world.pass(8'000);
    EXPECT_FALSE(one.is_decided());
    primary.release("gate");
    world.pass(1);
    EXPECT_TRUE(one.is_admitted());
    EXPECT_TRUE(other.is_admitted());
    EXPECT_EQ(one.waited(), 8'000);
}

TEST(ScriptedServer, CutsItsRepliesAnywhere) {
    Scenario world({"default", "5r/h"});
    Scripted primary(world.events, world.network, Scenario::primary_address, reading(4, world.at(60'000)));
    primary.piece = 1;
    EXPECT_EQ(world.ask("client"), "PASSED");
    EXPECT_EQ(world.logged("."), 0);
}

TEST(ScriptedServer, RelaysToAServerAndChangesItsAnswer) {
    Scenario world({"default", "5r/h", "charge_refund"});
    Redis redis(world.events, world.network, "10.0.0.9:6379");
    bool away = false;
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     relaying(redis, [&away](const Command&, ScriptedClient& client, std::string answer) {
                         return away ? client.reset() : ScriptedReply(std::move(answer));
                     }));
    EXPECT_EQ(world.ask("client"), "PASSED");
    away = true;
    EXPECT_EQ(world.ask(RequestSetup("client").or_else(OnError::deny)), "ERROR_DENIED");
    EXPECT_EQ(redis.used(stored_key("client")), 2);
    EXPECT_EQ(primary.connections(), 1);
}

TEST(ScriptedServer, RefusesConnectionsWhileItIsStopped) {
    Scenario world({"default", "5r/h"});
    Scripted primary(world.events, world.network, Scenario::primary_address, reading({}, {}));
    primary.stop();
    EXPECT_EQ(world.ask("client"), "ERROR_ALLOWED");
    EXPECT_EQ(world.logged("Connection refused"), 1);
    primary.start();
    EXPECT_TRUE(
        world.until([&] { return world.ask(RequestSetup("other").or_else(OnError::deny)) == "PASSED"; }));
}

}  // namespace
}  // namespace rate_limit::world::scripted_server_test
