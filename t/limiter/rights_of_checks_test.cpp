// Which requests cannot be checked while the module's user lacks one right of the documented list, at all
// nodes or at some: those go by rate_limit_on_error and say why, all else goes on.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "t/limiter/checked.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/scripted_cluster.h"

namespace rate_limit::world::rights_of_checks_test {
namespace {

using Rights = std::set<std::string, std::less<>>;

constexpr std::size_t keys = 5;
constexpr std::size_t requests = 60;  // of each world, ten a second

/// All but PING: who may not call that is not known to serve.
const Rights documented = {"info",     "select", "hmget", "hget",    "hgetall",    "hset", "hdel",
                           "hincrby",  "hlen",   "del",   "pttl",    "pexpire",    "get",  "set",
                           "bitfield", "time",   "eval",  "evalsha", "script|load"};

/// A kind of limit in a mode, and the rights without which some of its requests cannot be checked.
struct Kind {
    LimitSetup limit;
    Rights needs;

    std::string name() const {
        return limit.mode + (limit.running ? " running" : limit.burst != 0 ? " bucket" : " window");
    }
};

std::vector<Kind> kinds() {
    LimitSetup running{"default", "9"};
    running.running = true;
    return {
        {{"default", "1000r/h", "check_charge"}, {"hmget"}},
        {{"default", "1000r/h", "charge_refund"}, {"hmget", "hset", "hincrby", "pexpire", "evalsha"}},
        {{"default", "1000r/h", "lease"}, {"hmget", "hset", "hlen", "pexpire", "evalsha"}},
        {{"default", "36000r/h", "charge_refund", 1000}, {"pttl", "get", "set", "evalsha"}},
        {{"default", "36000r/h", "lease", 1000}, {"pttl", "get", "set", "evalsha"}},
        {running, {"hgetall", "hset", "hlen", "pexpire", "evalsha"}},
    };
}

/// Lines of the log but for those about single requests, of which nginx's side writes one a second.
std::vector<std::string> lines_of_servers(const Scenario& world) {
    std::vector<std::string> lines = world.lines();
    lines.erase(std::remove_if(lines.begin(), lines.end(),
                               [](const std::string& line) {
                                   return line.find("could not be checked") != std::string::npos;
                               }),
                lines.end());
    return lines;
}

std::string key_of(std::size_t request) {
    return "k" + std::to_string(request % keys);
}

struct WithoutARight : OneMachine {
    explicit WithoutARight(const LimitSetup& limit, bool shares = false) : OneMachine(limit) {
        setup.stores.front().shares_overrides = shares;
        Hash overrides;
        overrides.set("version", "7");
        primary.server().databases().front().make("rl:!overrides").content = overrides;
    }

    /// How many of the requests could not be checked. None may have another reason than the right.
    std::size_t ask_all() {
        std::size_t errors = 0;
        for (std::size_t i = 0; i < requests; ++i) {
            const std::string said = ask(key_of(i));
            EXPECT_TRUE(said == "PASSED" || said == "ERROR_ALLOWED") << said;
            errors += said == "ERROR_ALLOWED" ? 1 : 0;
            pass(100);
        }
        EXPECT_EQ(logged("could not be checked: noperm: its user may not run"), errors);
        EXPECT_EQ(logged("could not be checked"), errors);
        return errors;
    }

    std::int64_t used() {
        std::int64_t all = 0;
        for (std::size_t i = 0; i < keys; ++i) {
            all += primary.used(stored_key(key_of(i)));
        }
        return all;
    }
};

TEST(ARightThatIsLacking, IsMissedByWhatNeedsItAlone) {
    for (const Kind& kind : kinds()) {
        for (const std::string& right : documented) {
            for (const ServerVersion version :
                 {ServerVersion::redis_6, ServerVersion::redis_7, ServerVersion::redis_8}) {
                SCOPED_TRACE(kind.name() + " without " + right);
                WithoutARight world(kind.limit);
                Server& server = world.primary.server();
                server.state.version = version;
                server.state.forbidden = {right};
                world.worker();
                world.pass(1'000);
                EXPECT_EQ(world.ask_all() != 0, kind.needs.count(right) != 0);
                EXPECT_EQ(world.logged("is down|does not serve"), 0U);
                EXPECT_LE(lines_of_servers(world).size(), 10U);
                EXPECT_LE(server.commands(), 30 + 3 * requests);
                server.state.forbidden.clear();
                world.pass(10'000);
                EXPECT_EQ(world.ask("k0"), "PASSED");
                EXPECT_TRUE(world.stop_all());
                if (!kind.limit.running && kind.limit.burst == 0) {
                    EXPECT_EQ(world.used(), static_cast<std::int64_t>(requests + 1));
                }
                EXPECT_EQ(world.logged("doubt|lost"), 0U);
            }
        }
    }
}

/// Requests need none of the rights that reading the machines' overrides, or changing them, needs.
TEST(ARightThatOverridesLack, TakesNothingFromRequests) {
    for (const Kind& kind : kinds()) {
        for (const std::string& right : documented) {
            SCOPED_TRACE(kind.name() + " without " + right);
            const bool reads = right == "hmget" || right == "hgetall";
            WithoutARight world(kind.limit, true);
            world.primary.server().state.forbidden = {right};
            world.worker();
            world.pass(1'000);
            EXPECT_EQ(world.ask_all() != 0, kind.needs.count(right) != 0);
            EXPECT_EQ(world.logged("is down|does not serve"), 0U);
            EXPECT_EQ(world.logged("answered HGETALL"), 0U) << "the overrides' line tells it";
            EXPECT_EQ(world.logged("overrides at \"rl:!overrides\" .* are forbidden to the module's user: "
                                   ".*; give that user \\+hmget, \\+hgetall and that key"),
                      reads ? 1U : 0U);
        }
    }
}

/// Answers each read as of no window, but for that key, which its user may not access.
Handler lacking(const std::string& key) {
    return [key](const Command& words, ScriptedClient&) -> ScriptedReply {
        return words[0] != "hmget"           ? ScriptedReply(fallback(words))
               : words[1] == stored_key(key) ? ScriptedReply(error(key_refusals[0]))
                                             : ScriptedReply(hmget({}, {}));
    };
}

/// The users of a primary and of its replica lack the right to read, or one of them does.
TEST(TheRightToRead, IsOfEachNode) {
    for (const bool of_primary : {false, true}) {
        for (const bool of_replica : {false, true}) {
            for (const Kind& kind : kinds()) {
                SCOPED_TRACE(kind.name() + (of_primary ? ", not of the primary" : "") +
                             (of_replica ? ", not of the replica" : ""));
                WithoutARight world(kind.limit);
                world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
                world.setup.stores.front().fresh = 0;
                Redis replica(world.events, world.network, Scenario::replica_address);
                if (of_primary) {
                    world.primary.server().state.forbidden = {"hmget"};
                }
                if (of_replica) {
                    replica.server().state.forbidden = {"hmget"};
                }
                world.worker();
                world.pass(1'000);
                const bool by_any = kind.limit.mode == "check_charge";
                const bool lacks = of_primary && (of_replica || !by_any);
                EXPECT_EQ(world.ask_all() != 0, lacks && kind.needs.count("hmget") != 0);
                EXPECT_EQ(world.logged("is down|does not serve"), 0U);
                const std::size_t seconds = 10;
                EXPECT_LE(world.logged("replica .* answered HMGET: \"NOPERM"),
                          by_any && of_replica ? seconds : 0);
                EXPECT_LE(world.logged("primary .* answered HMGET: \"NOPERM"), of_primary ? seconds : 0);
                EXPECT_LE(replica.server().commands(), by_any && !of_replica ? 3 * requests : 40);
                world.primary.server().state.forbidden.clear();
                replica.server().state.forbidden.clear();
                world.pass(2'000);
                const std::size_t before = replica.server().commands();
                EXPECT_EQ(world.ask("k0"), "PASSED");
                if (by_any && !kind.limit.running) {
                    EXPECT_GT(replica.server().commands(), before) << "it is asked again";
                }
            }
        }
    }
}

/// The patterns of a replica's user leave out a key, or all: the primary answers, and the replica is left out
/// of reads for a second.
TEST(TheRightToAKey, IsOfEachNode) {
    for (const char* refusal : key_refusals) {
        for (const bool of_all : {false, true}) {
            SCOPED_TRACE(refusal + std::string(of_all ? ", all" : ", one"));
            WithoutARight world({"default", "1000r/h", "check_charge"});
            world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
            world.setup.stores.front().fresh = 0;
            Scripted replica(world.events, world.network, Scenario::replica_address,
                             [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                                 const bool lacks =
                                     words[0] == "hmget" && (of_all || words[1] == stored_key("k0"));
                                 return lacks                 ? ScriptedReply(error(refusal))
                                        : words[0] == "hmget" ? ScriptedReply(hmget({}, {}))
                                                              : ScriptedReply(fallback(words));
                             });
            world.worker();
            world.pass(1'000);
            EXPECT_EQ(world.ask_all(), 0U);
            EXPECT_GE(replica.commands("hmget").size(), 4U);
            const std::size_t seconds = 10;
            EXPECT_LE(world.logged("replica .* answered HMGET: \"NOPERM"), seconds);
            if (of_all) {
                EXPECT_LE(replica.commands("hmget").size(), seconds);
            }
        }
    }
}

/// Nobody else is left to read from: the reason is what the replica lacks, and its right is found at once
/// when it is back.
TEST(TheRightToRead, IsTheReasonWhereNoOtherNodeIsUp) {
    WithoutARight world({"default", "1000r/h", "check_charge"});
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address, "10.0.0.3:6379"};
    world.setup.stores.front().fresh = 0;
    Redis replica(world.events, world.network, Scenario::replica_address);
    Redis other(world.events, world.network, "10.0.0.3:6379");
    replica.server().state.forbidden = {"hmget"};
    other.server().state.forbidden = {"hmget"};
    world.worker();
    world.pass(1'000);
    world.primary.kill(true);
    world.pass(2'000);
    const std::uint64_t before = replica.server().commands() + other.server().commands();
    EXPECT_EQ(world.ask_all(), requests);
    EXPECT_LE(replica.server().commands() + other.server().commands() - before, requests + 40);
    replica.server().state.forbidden.clear();
    other.server().state.forbidden.clear();
    EXPECT_EQ(world.ask("k0"), "PASSED");
    world.primary.start();
}

/// The patterns of all users leave the keys out: the reason says so, whether the primary is up or not.
TEST(TheRightToAKey, IsTheReasonWhereNoNodeGivesIt) {
    for (const char* refusal : key_refusals) {
        for (const bool is_up : {true, false}) {
            SCOPED_TRACE(refusal + std::string(is_up ? "" : ", the primary is down"));
            Scenario world({"default", "1000r/h", "check_charge"});
            world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
            world.setup.stores.front().fresh = 0;
            const Handler handler = [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                return words[0] == "hmget" ? error(refusal) : fallback(words);
            };
            Scripted primary(world.events, world.network, Scenario::primary_address, handler);
            Scripted replica(world.events, world.network, Scenario::replica_address, handler);
            world.worker();
            world.pass(1'000);
            if (!is_up) {
                primary.stop();
                world.pass(2'000);
            }
            EXPECT_EQ(world.ask("k"), "ERROR_ALLOWED");
            EXPECT_EQ(world.logged("could not be checked: noperm: its user may not access the key"), 1U);
        }
    }
}

/// One key of a replica's user is forbidden, which leaves the replica out of reads: while the primary is
/// silent, it is asked for the others all the same.
TEST(TheRightToAKey, TakesNoOtherKeyFromAReplicaBesideASilentPrimary) {
    Scenario world({"default", "1000r/h", "check_charge"});
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    world.setup.stores.front().fresh = 0;
    bool silent = false;
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         return silent ? no_reply() : serve(words, world.at(1'800'000));
                     });
    Scripted replica(world.events, world.network, Scenario::replica_address, lacking("k0"));
    world.worker();
    world.pass(1'000);
    EXPECT_EQ(world.ask("k0"), "PASSED");
    silent = true;
    for (std::size_t i = 1; i < requests; ++i) {
        EXPECT_EQ(world.ask(key_of(i)), i % keys == 0 ? "ERROR_ALLOWED" : "PASSED") << i;
        world.pass(20);
    }
}

/// Each of two replicas has a key that its user may not access. While the primary is down the other one
/// answers for that key.
TEST(TheRightToAKey, IsOfEachReplicaWhereThePrimaryIsDown) {
    OneMachine world({"default", "1000r/h", "check_charge"});
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address, "10.0.0.3:6379"};
    world.setup.stores.front().fresh = 0;
    Scripted first(world.events, world.network, Scenario::replica_address, lacking("k0"));
    Scripted second(world.events, world.network, "10.0.0.3:6379", lacking("k1"));
    world.worker();
    world.pass(1'000);
    world.primary.kill(true);
    for (const std::string key : {"k0", "k1"}) {
        world.pass(2'000);
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(world.ask(key), "PASSED");
            EXPECT_EQ(world.admitted(2, "other"), 2U);  // so that each replica has its turn with both
            world.pass(40);
        }
        const auto reads = (key == "k0" ? first : second).commands("hmget");
        const auto refused = std::count_if(
            reads.begin(), reads.end(), [&key](const Command& read) { return read[1] == stored_key(key); });
        EXPECT_GE(refused, 3) << "it is asked again a second later";
        EXPECT_LE(refused, 5);
    }
    world.primary.start();
}

/// A replica is silent, and the primary, which is asked meanwhile, may not be read: the replica may yet
/// answer.
TEST(TheRightToRead, EndsNoReadThatAnotherNodeMayAnswer) {
    OneMachine world({"default", "1000r/h"}, 9'000);
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    world.setup.stores.front().fresh = 0;
    world.primary.server().state.forbidden = {"hmget"};
    Scripted replica(world.events, world.network, Scenario::replica_address,
                     [](const Command& words, ScriptedClient&) -> ScriptedReply {
                         return words[0] == "hmget" ? hold("gate", hmget({}, {})) : fallback(words);
                     });
    ClientRequest& request = world.begin("k");
    world.pass(5'000);
    EXPECT_EQ(world.logged("primary .* answered HMGET: \"NOPERM"), 1U);
    EXPECT_FALSE(request.is_decided());
    replica.release("gate");
    world.pass(10);
    EXPECT_EQ(outcome(request), "PASSED");
    request.end();
}

}  // namespace
}  // namespace rate_limit::world::rights_of_checks_test
