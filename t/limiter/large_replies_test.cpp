// A server that promises a text or a line without end: the connection ends as soon as more of it has come
// than any answer has, and the log says so. What is within the bound is read; what another program may have
// stored in a client's key is passed over.

#include <string>
#include <vector>

#include "t/limiter/checked.h"
#include "t/limiter/scripted_cluster.h"
#include "t/world/sentinel.h"

namespace rate_limit::world::large_replies_test {
namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;
constexpr const char* cluster_node = "10.0.0.1:7000";
constexpr const char* sentinel = "10.0.2.1:26379";

/// Begins of an answer whose text goes on.
const std::string endless[] = {"$2000000000\r\n",
                               "*2\r\n$2000000000\r\n",
                               "*2\r\n$1\r\n1\r\n$2000000000\r\n",
                               "*1\r\n*1\r\n$2000000000\r\n",
                               "+",
                               "-ERR ",
                               ":",
                               "$",
                               "*"};

/// Answers that command so, and then by `bytes` more.
Handler large(const std::string& command, const std::string& begin, std::size_t bytes, Handler others) {
    return [=](const Command& words, ScriptedClient& client) -> ScriptedReply {
        if (words[0] != command) {
            return others(words, client);
        }
        client.send(begin);
        for (std::size_t sent = 0; sent < bytes; sent += megabyte / 4) {
            client.send(std::string(megabyte / 4, '1'));
        }
        return "";
    };
}

ScriptedReply serving(const Command& words, ScriptedClient& /*client*/) {
    return serve(words, Loop::usual_wall_clock + 1'800'000);
}

TEST(AnEndlessAnswer, EndsTheConnectionAtOnce) {
    for (const char* command : {"ping", "info", "script", "hmget", "evalsha"}) {
        for (const std::string& begin : endless) {
            SCOPED_TRACE(command + (" " + begin));
            Scenario world({"checked", "1000r/h"}, 9'000);
            world.setup.limits.push_back({"charged", "1000r/h", "charge_refund"});
            Scripted primary(world.events, world.network, Scenario::primary_address,
                             large(command, begin, 2 * megabyte, serving));
            for (int i = 0; i < 4; ++i) {
                ClientRequest& request = world.begin("k");
                world.pass(100);
                if (request.is_admitted() && !request.is_over()) {
                    request.end();
                }
            }
            EXPECT_GE(world.logged(begin.back() == '\n' ? "is down: its answer has a text above 1 MB"
                                                        : "is down: its answer has a line above 64 KB"),
                      1U);
            EXPECT_EQ(world.logged("in charge_timeout|in check_timeout"), 0U);
        }
    }
}

/// That loss of a connection is borne by the node, and the charge is in doubt.
TEST(AnEndlessAnswer, ToAnIncrementEndsTheConnectionAtOnce) {
    for (const std::string& begin : endless) {
        SCOPED_TRACE(begin);
        Scenario world({"default", "1000r/h"}, 9'000);
        Scripted primary(world.events, world.network, Scenario::primary_address,
                         large("hincrby", begin, 2 * megabyte,
                               [](const Command& words, ScriptedClient& client) -> ScriptedReply {
                                   return words[0] == "hmget" ? hmget(5, Loop::usual_wall_clock + 1'800'000)
                                                              : serving(words, client);
                               }));
        EXPECT_EQ(world.ask("k"), "PASSED");
        world.let_connections_age();
        EXPECT_EQ(world.ask("k"), "PASSED");
        world.pass(100);
        EXPECT_EQ(primary.commands("hincrby").size(), 1U);
        EXPECT_EQ(world.logged("1 charges for .* were sent and not answered: they are in doubt"), 1U);
    }
}

TEST(ALargeAnswer, IsReadUpToTheBound) {
    Scenario world({"default", "1000r/h"}, 9'000);
    const std::string most = bulk(std::string(megabyte - 100, '1'));
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                         if (words[0] != "info") {
                             return serving(words, client);
                         }
                         client.send(most.substr(0, most.size() - 10));
                         return most.substr(most.size() - 10);
                     });
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_GE(primary.commands("info").size(), 1U);
    EXPECT_EQ(world.logged("is down"), 0U);
}

/// One client's key has a text that no window has: the check finds none, so that the charge can replace it.
TEST(ALargeField, IsNoWindowAndHurtsNobodyElse) {
    for (const OnError on_error : {OnError::allow, OnError::deny}) {
        for (const std::size_t megabytes : {2, 30}) {
            for (const bool is_used : {true, false}) {
                SCOPED_TRACE(std::to_string(megabytes) + (is_used ? " MB of used" : " MB of reset"));
                Scenario world({"default", "1000r/h", "check_charge"}, 9'000);
                world.setup.on_error = on_error;
                const std::string text = bulk(std::string(megabytes * megabyte, '1'));
                const std::string window = is_used ? array({text, bulk(std::to_string(world.at() + 60'000))})
                                                   : array({bulk("5"), text});
                Scripted primary(world.events, world.network, Scenario::primary_address,
                                 [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                                     if (words[0] != "hmget" || words[1].find("bad") == std::string::npos) {
                                         return serving(words, client);
                                     }
                                     for (std::size_t at = 0; at < window.size(); at += megabyte / 4) {
                                         client.send(window.substr(at, megabyte / 4));
                                     }
                                     return "";
                                 });
                for (const char* client : {"bad", "other"}) {
                    EXPECT_EQ(world.ask(client), "PASSED");
                }
                world.pass(1'000);
                EXPECT_EQ(count_with(primary.commands("hmget"), "bad"), 1U);
                EXPECT_GE(count_with(primary.commands("evalsha"), "bad"), 1U) << "it is charged";
                EXPECT_EQ(world.logged("."), 0U);
            }
        }
    }
}

/// The greatest text of an answer that has a tree may be sixteen times as large.
TEST(AnEndlessTopology, EndsTheConnectionAtOnce) {
    for (const std::size_t megabytes : {2, 18}) {
        for (const std::string& begin : {endless[0], endless[1], endless[3]}) {
            SCOPED_TRACE(std::to_string(megabytes) + " MB of " + begin);
            Scenario world({"default", "1000r/h"}, 9'000);
            StoreSetup& store = world.setup.stores.front();
            store.shards.clear();
            store.seeds = {cluster_node};
            Scripted node(world.events, world.network, cluster_node,
                          large("cluster", begin, megabytes * megabyte, serving));
            world.worker();
            world.pass(1'000);
            EXPECT_EQ(world.logged("a node cannot be asked"), megabytes > 16 ? 1U : 0U);
        }
    }
}

TEST(AnEndlessSentinel, IsHungUpOn) {
    Scenario world({"default", "1000r/h"}, 9'000);
    world.setup.stores.front().shards = {{"a", "", {}, "m"}};
    world.setup.stores.front().sentinels = {sentinel};
    Scripted asked(world.events, world.network, sentinel,
                   large("sentinel", endless[0], 18 * megabyte, [](const Command& words, ScriptedClient&) {
                       return ScriptedReply(fallback(words));
                   }));
    world.worker();
    world.pass(1'000);
    EXPECT_EQ(world.logged("sentinel 10.0.2.1:26379 of \"main\" is down: its answer has a text above 16 MB"),
              1U);
}

/// Overrides that take longer than charge_timeout to come are not read for ever, as the primary is down with
/// each read, and the log says what to do.
TEST(OverridesThatComeTooSlowly, AreReadThreeTimes) {
    Scenario world({"default", "1000r/h", "check_charge"});
    world.setup.stores.front().shares_overrides = true;
    std::string version = "7";
    bool slow = true;
    Scripted primary(
        world.events, world.network, Scenario::primary_address,
        [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
            if (words[0] == "hmget" && words[1] == "rl:!overrides") {
                return array({bulk(version)});
            }
            if (words[0] != "hgetall") {
                return serving(words, client);
            }
            if (!slow) {
                return array({bulk("version"), bulk(version)});
            }
            const auto piece = bulk("f") + bulk(std::string(megabyte / 4, 'x'));
            client.send("*200\r\n");
            for (int i = 0; i < 100; ++i) {
                world.events.in(i * 60'000, [self = client.shared_from_this(), piece] { self->send(piece); });
            }
            return later(6'000'000, "");
        });
    const auto wholes = [&primary] { return primary.commands("hgetall").size(); };
    world.worker();
    world.pass(60'000);
    EXPECT_EQ(wholes(), 3U);
    EXPECT_EQ(world.logged("did not come within charge_timeout in three tries: .*; delete that key"), 1U);
    EXPECT_EQ(world.ask("k"), "PASSED");
    version = "8";
    slow = false;
    world.pass(10'000);
    EXPECT_EQ(wholes(), 4U) << "the next version is read";
}

/// The most that machines share: 512 KB of texts, in pieces.
TEST(TheMostOverrides, AreReadInPieces) {
    Scenario world({"default", "1000r/h"}, 9'000);
    world.setup.stores.front().shares_overrides = true;
    const std::string field = "default/:" + std::string(511 * 1024, 'k');
    const std::string until = std::to_string(Loop::usual_wall_clock + 3'600'000);
    const std::string whole =
        array({bulk("version"), bulk("7"), bulk(field), bulk("1 ban 0 1 " + until + " ann")});
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                         if (words[0] != "hgetall") {
                             return words[0] == "hmget" && words[1] == "rl:!overrides"
                                        ? array({bulk("7")})
                                        : serving(words, client);
                         }
                         for (std::size_t at = 0; at < whole.size(); at += 10'000) {
                             client.send(whole.substr(at, 10'000));
                         }
                         return "";
                     });
    world.worker();
    world.pass(3'000);
    EXPECT_EQ(primary.commands("hgetall").size(), 1U) << "they are read, and not again";
    EXPECT_EQ(world.logged("."), 0U);
}

}  // namespace
}  // namespace rate_limit::world::large_replies_test
