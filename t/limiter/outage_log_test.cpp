// The log of an outage: its begin, each new reason, once a minute how long it has lasted, and its end. A
// further failed try is not logged.

#include <string>

#include "t/limiter/checked.h"

namespace rate_limit::world::outage_log_test {
namespace {

/// Knows one request in each window, and takes charges.
Handler serving(Millis reset) {
    return [reset](const Command& words, ScriptedClient&) -> ScriptedReply {
        return words[0] == "hmget" ? hmget(1, reset)
               : is_write(words)   ? integers({1, reset})
                                   : fallback(words);
    };
}

class OutageLog : public testing::Test {
protected:
    Scenario world{{"default", "100r/h"}};
    Scripted primary{world.events, world.network, Scenario::primary_address, serving(world.at(1'800'000))};

    void minutes(int count) {
        for (int second = 0; second < 60 * count; ++second) {
            world.pass(1'000);
            check(world, "k");
        }
    }
};

TEST_F(OutageLog, TellsItsBeginEachMinuteAndItsEnd) {
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    Scripted replica(world.events, world.network, Scenario::replica_address, reading(1, world.at(1'800'000)));
    EXPECT_EQ(world.ask("k"), "PASSED");
    world.pass(10);
    EXPECT_EQ(world.ask("k"), "PASSED");
    world.pass(10);  // a connection that has answered nothing yet is lost in another way
    primary.stop();
    replica.stop();
    minutes(5);
    for (const char* node : {"primary 10.0.0.1:6379", "replica 10.0.0.2:6379"}) {
        const std::string down = std::string(node) + " of shard \"a\" of \"main\" is down";
        EXPECT_EQ(world.logged(down + ": Connection refused"), 1U) << "its begin";
        for (const char* minute : {"6\\d", "1[23]\\d", "(1[89]|20)\\d", "2[4-6]\\d"}) {
            EXPECT_EQ(world.logged(down + ", for " + minute + "\\.\\d s by now: Connection refused"), 1U)
                << minute;
        }
        EXPECT_EQ(world.logged(down), 5U);
    }
    primary.start();
    replica.start();
    minutes(1);
    EXPECT_EQ(
        world.logged("primary 10.0.0.1:6379 of shard \"a\" of \"main\" is up again after 30\\d\\.\\d s"), 1U);
    EXPECT_EQ(
        world.logged("replica 10.0.0.2:6379 of shard \"a\" of \"main\" is up again after 30\\d\\.\\d s"), 1U);
    minutes(3);
    EXPECT_EQ(world.logged("is down|is up again|does not serve"), 12U) << "and nothing else";
}

TEST_F(OutageLog, TellsAnotherReason) {
    EXPECT_EQ(check(world, "k"), "PASSED 1");
    primary.handler = [](const Command&, ScriptedClient&) { return error("LOADING Redis is loading"); };
    EXPECT_EQ(check(world, "k"), "ERROR_ALLOWED 1");
    const std::string node = "primary 10.0.0.1:6379 of shard \"a\" of \"main\" ";
    EXPECT_EQ(world.logged(node + "does not serve: loading: [^\"]*\\(\\w+: \"LOADING Redis is loading\"\\)"),
              1U);
    world.pass(2'000);
    primary.stop();
    minutes(1);
    EXPECT_EQ(world.logged(node + "is down, for \\d+\\.\\d s by now: Connection refused"), 1U);
}

TEST_F(OutageLog, TellsTheServersWordsWhenTheyComeLater) {
    int nth = 0;
    bool says = false;
    primary.handler = [&](const Command&, ScriptedClient& client) {
        if (says) {
            client.send(error("ERR this proxy is full, " + std::to_string(++nth)));
        }
        client.close();
        return no_reply();
    };
    const std::string node = "primary 10.0.0.1:6379 of shard \"a\" of \"main\" is down";
    check(world, "k");
    world.pass(2'000);
    EXPECT_EQ(world.logged(node + ": Server closed the connection$"), 1U);
    says = true;
    world.pass(10'000);
    EXPECT_GT(nth, 1);
    EXPECT_EQ(
        world.logged(node + ", for .* Server closed the connection \\(.*: \"ERR this proxy is full, 1\"\\)"),
        1U);
    EXPECT_EQ(world.logged(node), 2U) << "and further words are not news";
}

/// A node that serves and refuses in turn is reported at most once a second, going and coming.
TEST_F(OutageLog, OfAFlappingNodeHasALineASecond) {
    world.setup.stores.front().fresh = 0;
    std::size_t reads = 0;
    primary.handler = [&reads, this](const Command& words, ScriptedClient&) -> ScriptedReply {
        return words[0] != "hmget" ? fallback(words)
               : reads++ % 2 == 1  ? error("LOADING Redis is loading")
                                   : hmget(1, world.at(1'800'000));
    };
    for (int i = 0; i < 5'000; ++i) {
        EXPECT_NE(check(world, "k"), "");
        world.pass(1);
    }
    EXPECT_GT(primary.commands("ping").size(), 40U) << "the node comes and goes";
    EXPECT_LE(world.logged("does not serve: loading"), 6U);
    EXPECT_GE(world.logged("does not serve: loading"), 4U);
    EXPECT_LE(world.logged("is up again"), 6U);
}

}  // namespace
}  // namespace rate_limit::world::outage_log_test
