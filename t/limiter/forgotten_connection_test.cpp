// A connection that what is between has forgotten: what is sent over it goes nowhere, and others are taken.

#include <string>
#include <utility>

#include "t/limiter/primary_and_replica.h"

namespace rate_limit::world::forgotten_connection_test {
namespace {

using ForgottenConnection = PrimaryAndReplica;

TEST_F(ForgottenConnection, IsReplacedAboutCheckTimeoutAfterACommandWasSent) {
    EXPECT_EQ(world.ask("k"), "PASSED");
    world.pass(100);
    forgotten = 1;
    world.begin("k");
    world.pass(110);  // check_timeout, and a greeting
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_EQ(replica.connections(), 2U);
    EXPECT_EQ(primary.connections(), 2U);
}

/// A charge that is late on the first connection is neither lost nor made twice.
TEST_F(ForgottenConnection, IsReadUntilWhatWasSentIsAnswered) {
    bool late = false;
    primary.handler = [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
        if (late && client.number() == 1) {
            ScriptedReply reply = answer(words);
            return later(2'000'000, std::move(reply.bytes));
        }
        return answer(words);
    };
    EXPECT_EQ(world.ask("k"), "PASSED");
    world.pass(100);
    EXPECT_EQ(counted(world, Write::charges_stored), 1U);
    late = true;
    EXPECT_EQ(world.ask("k"), "PASSED");
    world.pass(1'000);
    EXPECT_EQ(primary.connections(), 2U);
    EXPECT_EQ(primary.open(), 2U);
    EXPECT_EQ(counted(world, Write::charges_stored), 1U);
    world.pass(2'000);
    EXPECT_EQ(primary.open(), 1U) << "the first one is closed once all of it is answered";
    EXPECT_EQ(counted(world, Write::charges_stored), 2U);
    EXPECT_EQ(world.logged("doubt"), 0U);
}

/// When it is up again nobody knows how far away it is, and check_timeout says nothing of that.
TEST_F(ForgottenConnection, OfAServerFartherThanCheckTimeoutIsReplacedOnce) {
    place(primary, 80'000);
    world.worker();
    world.pass(2'000);
    forgotten = 1;
    world.pass(15'000);  // after 10 s it is asked by PING
    EXPECT_EQ(primary.connections(), 2U);
    const std::size_t asked = primary.commands("ping").size();
    world.pass(9'000);
    EXPECT_LE(primary.commands("ping").size(), asked + 1);
    EXPECT_EQ(world.logged("primary .* does not serve"), 1U);
}

/// It accepts, and answers nothing: nobody takes over.
TEST_F(ForgottenConnection, OfAServerThatIsStoppedIsGivenUpInTheEnd) {
    EXPECT_EQ(world.ask("k"), "PASSED");
    world.pass(100);
    forgotten = 1'000;
    world.begin("k");
    world.pass(20'000);
    EXPECT_LE(primary.connections(), 20U);
    EXPECT_EQ(world.logged("primary .* does not serve"), 1U);
    forgotten = 0;
    world.pass(6'000);
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_EQ(primary.open(), 1U);
}

}  // namespace
}  // namespace rate_limit::world::forgotten_connection_test
