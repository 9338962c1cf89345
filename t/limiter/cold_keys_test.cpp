// A key of a lease that is seldom asked for costs no more calls than in charge_refund; a batch begins with
// requests that follow one another.

#include <algorithm>
#include <string>
#include <vector>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::cold_keys_test {
namespace {

/// The names of all writes.
class Writes final : public CommandObserver {
public:
    void on_command(Server& /*server*/, const ServerCommand& command, Words words) override {
        if (command.name == "hincrby") {
            names.emplace_back("hincrby " + std::string(words[3]));
        } else if (command.name == "evalsha" || command.name == "eval") {
            names.emplace_back("script " + std::string(words[5]));  // of reserve.lua what it wants
        }
    }

    std::vector<std::string> names;
};

using Names = std::vector<std::string>;

class ColdKey : public testing::Test {
protected:
    ColdKey() {
        EXPECT_TRUE(world.admits("other"));
        world.let_connections_age();
        world.primary.server().observe(&writes);
    }

    /// One request after this pause, in milliseconds.
    bool ask_after(Msec pause, bool exempt = false) {
        world.pass(pause);
        ClientRequest& request = world.begin("k");
        world.pass(10);
        const bool admitted = request.is_admitted();
        request.end(exempt);
        return admitted;
    }

    std::int64_t used() { return world.primary.used(stored_key("k")); }

    OneMachine world{{"default", "10000r/h", "lease"}};
    Writes writes;
};

TEST_F(ColdKey, AsksAsInChargeRefund) {
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(ask_after(20'000));
    }
    world.pass(60'000);
    EXPECT_EQ(used(), 10);
    EXPECT_EQ(writes.names.size(), 10U);
    EXPECT_EQ(writes.names.front(), "script 1");
    EXPECT_EQ(std::count(writes.names.begin(), writes.names.end(), "hincrby 1"), 9);
}

TEST_F(ColdKey, GetsABatchWithTheSecondRequestCloseBy) {
    for (int i = 0; i < 11; ++i) {
        EXPECT_TRUE(ask_after(100));
    }
    EXPECT_EQ(writes.names, (Names{"script 1", "script 10", "script 23"}))
        << "a thousandth of the limit, then more";
    EXPECT_EQ(used(), 34);
}

TEST_F(ColdKey, GetsABatchWithTheThirdRequestLessClose) {
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(ask_after(2'600));
    }
    EXPECT_EQ(writes.names, (Names{"script 1", "hincrby 1", "script 7"})) << "what is spent in 20 s";
}

TEST_F(ColdKey, KeepsAFewTokensForTheNextRequests) {
    for (const Msec pause : {0, 2'600, 2'600}) {
        EXPECT_TRUE(ask_after(pause));
    }
    EXPECT_TRUE(ask_after(13'000)) << "one of the batch";
    EXPECT_EQ(writes.names.size(), 3U);
    world.pass(30'000);
    EXPECT_EQ(writes.names.size(), 4U) << "they go back";
    EXPECT_EQ(used(), 4);
}

TEST_F(ColdKey, GivesBackWhatWasFree) {
    EXPECT_TRUE(ask_after(0));
    EXPECT_TRUE(ask_after(20'000, true));
    world.pass(5'000);
    EXPECT_EQ(used(), 1);
    EXPECT_TRUE(ask_after(20'000));
    world.pass(60'000);
    EXPECT_EQ(used(), 2);
}

TEST_F(ColdKey, IsRejectedAtTheLimit) {
    OneMachine small({"default", "3r/h", "lease"});
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(small.admits("k"));
        small.pass(20'000);
    }
    EXPECT_FALSE(small.admits("k"));
    EXPECT_EQ(small.primary.used(stored_key("k")), 3);
}

/// A worker hears nothing of the server any more, and another one fetches tokens meanwhile: a request that
/// asked alone is admitted by one of those when it has waited for long enough, and as few are left, more are
/// fetched.
TEST(ColdKeyOfTwoWorkers, IsAdmittedByTokensThatCameMeanwhile) {
    Scenario world({"default", "10000r/h", "lease"});
    bool silent = false;
    bool slow = false;
    const Handler grants = reserving(world.at(1'800'123), slow);
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                         return silent && client.number() == 1 ? no_reply() : grants(words, client);
                     });
    EXPECT_EQ(world.ask("other"), "PASSED");
    silent = true;
    ClientRequest& alone = world.begin("k", &world.worker());
    world.pass(20);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(world.ask("k", &world.worker(1)), "PASSED");
    }
    const std::size_t before = primary.writes().size();
    EXPECT_TRUE(world.until([&] { return alone.is_decided(); }));
    EXPECT_EQ(outcome(alone), "PASSED");
    EXPECT_GT(alone.waited(), 0);
    alone.end();
    world.pass(10);
    EXPECT_EQ(primary.writes().size(), before + 1) << "the next batch";
}

}  // namespace
}  // namespace rate_limit::world::cold_keys_test
