// Charges that wait, are dropped or in doubt, and errors by node and kind: one line a minute while they
// change, none while not.

#include <string>

#include "t/limiter/checked.h"

namespace rate_limit::world::counter_log_test {
namespace {

std::string kind_of(const std::string& key) {
    return key.substr(key.find_last_of(":-") + 1);
}

class CounterLog : public testing::Test {
protected:
    CounterLog() {
        world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
        replica.handler = [](const Command& words, ScriptedClient&) -> ScriptedReply {
            if (words[0] != "hmget") {
                return fallback(words);
            }
            const std::string kind = kind_of(words[1]);
            return kind == "loading" ? error("LOADING Redis is loading")
                   : kind == "odd"   ? simple("OK")
                                     : hmget({}, {});
        };
        primary.handler = [this](const Command& words, ScriptedClient& client) -> ScriptedReply {
            if (!is_write(words)) {
                return words[0] == "hmget" ? hmget({}, {}) : fallback(words);
            }
            const std::string kind = kind_of(words[words[0] == "evalsha" ? 3 : 1]);
            return kind == "reset"          ? client.reset()
                   : kind == "type"         ? error("WRONGTYPE wrong kind of value")
                   : kind == "oom" && !room ? error("OOM command not allowed")
                                            : ScriptedReply(integers({1, world.at(7'200'000)}));
        };
    }

    /// How many lines of counters one minute adds, and the last one that there is then.
    std::size_t minute() {
        const std::size_t before = world.logged("counters of");
        world.pass(60'000);
        for (const std::string& line : world.lines()) {
            const std::size_t at = line.find(": charges of");
            last = at != std::string::npos ? line.substr(at + 2) : last;
        }
        return world.logged("counters of") - before;
    }

    Scenario world{{"default", "1000r/24h"}};
    bool room = false;
    std::string last;
    Scripted primary{world.events, world.network, Scenario::primary_address};
    Scripted replica{world.events, world.network, Scenario::replica_address};
};

TEST_F(CounterLog, HasALineAMinuteWhileSomethingChanges) {
    EXPECT_EQ(world.ask("sound"), "PASSED");
    EXPECT_EQ(minute() + minute(), 0U) << "nothing has changed";

    for (const char* key : {"1-odd", "2-odd", "1-type", "2-type", "3-type", "loading"}) {
        world.ask(key);
    }
    const std::string of_replica = "; replica 10.0.0.2:6379: malformed 2, loading 1";
    EXPECT_EQ(minute(), 1U);
    EXPECT_EQ(last,
              "charges of 0 windows waiting, 3 dropped, 0 in doubt; primary 10.0.0.1:6379: wrongtype 3" +
                  of_replica);
    EXPECT_EQ(minute() + minute(), 0U);

    world.ask("reset");
    EXPECT_EQ(minute(), 1U);
    EXPECT_EQ(last,
              "charges of 0 windows waiting, 3 dropped, 1 in doubt; primary 10.0.0.1:6379: connection 1, "
              "wrongtype 3" +
                  of_replica);
    EXPECT_EQ(minute() + minute(), 0U);
}

TEST_F(CounterLog, CountsTriesWhileAPrimaryRefuses) {
    world.ask("oom");
    EXPECT_EQ(minute(), 1U);
    EXPECT_EQ(last.find("charges of 1 windows waiting, 0 dropped, 0 in doubt; primary 10.0.0.1:6379: oom "),
              0U)
        << last;
    const std::string before = last;
    EXPECT_EQ(minute(), 1U) << "tries go on";
    EXPECT_NE(last, before);
    room = true;
    EXPECT_EQ(minute(), 1U);
    EXPECT_EQ(last.find("charges of 0 windows waiting, 0 dropped, 0 in doubt"), 0U) << last;
    EXPECT_EQ(minute() + minute(), 0U);
}

TEST_F(CounterLog, IsNotWaitedForByALeavingWorker) {
    world.ask("1-type");
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("counters of"), 0U);
}

}  // namespace
}  // namespace rate_limit::world::counter_log_test
