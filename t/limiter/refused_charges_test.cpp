// Charges while a primary refuses writes: they wait, a try at a time, and each is stored once in the end.

#include <map>
#include <set>
#include <string>

#include "t/limiter/checked.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/poster.h"
#include "t/limiter/scripted_cluster.h"

namespace rate_limit::world::refused_charges_test {
namespace {

constexpr const char* oom = "OOM command not allowed when used memory > 'maxmemory'.";
constexpr Millis reset_of_all = Loop::usual_wall_clock + 1'800'000;

std::size_t sent_of(const Scripted& server, const std::string& key) {
    std::size_t count = 0;
    for (const Command& words : server.commands("evalsha")) {
        count += words[3] == key ? 1 : 0;
    }
    return count;
}

/// Two charges leave together; the first is refused for now, the second is taken.
TEST(ARefusedCharge, GoesAgainAloneWhereAnotherWasTaken) {
    Scenario world({"one", "99r/h"});
    world.setup.limits.push_back({"two", "99r/h"});
    Scripted redis(world.events, world.network, Scenario::primary_address,
                   taking(reset_of_all, [](std::size_t nth, ScriptedClient&, const std::string& taken) {
                       return ScriptedReply(nth == 1 ? error(oom) : taken);
                   }));
    EXPECT_EQ(world.ask("a"), "PASSED");
    EXPECT_TRUE(world.until([&] { return sent_of(redis, stored_key("a", "3600", "one")) == 2; }, 1'000));
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(sent_of(redis, stored_key("a", "3600", "one")), 2U);
    EXPECT_EQ(sent_of(redis, stored_key("a", "3600", "two")), 1U);
    EXPECT_EQ(world.logged("lost|dropped|doubt"), 0U);
}

/// One charge at a time is tried. One that fails for a reason of its own does not keep the others.
TEST(ARefusedCharge, KeepsNoOthersWhereItFails) {
    Scenario world({"default", "99r/h"});
    bool writable = false;
    int odd = 1;
    Scripted redis(
        world.events, world.network, Scenario::primary_address,
        taking(reset_of_all, [&](std::size_t, ScriptedClient&, const std::string& taken) {
            return ScriptedReply(!writable   ? error("READONLY You can't write against a read only replica.")
                                 : odd-- > 0 ? error("ERR odd")
                                             : taken);
        }));
    for (int i = 1; i <= 9; ++i) {
        EXPECT_EQ(world.ask(std::to_string(i)), "PASSED");
    }
    world.pass(1'000);
    EXPECT_EQ(
        world.logged("refuses charges: readonly: it is a replica now \\(charge.lua: \"READONLY You can't"),
        1U);
    EXPECT_GE(redis.writes().size(), 3U);
    EXPECT_LE(redis.writes().size(), 18U);
    writable = true;
    redis.forget();
    EXPECT_TRUE(world.until([&] { return redis.writes().size() == 9; }));
    world.pass(1'000);
    std::set<std::string> keys;
    for (const Command& words : redis.commands("evalsha")) {
        keys.insert(words[3]);
    }
    EXPECT_EQ(keys.size(), 9U) << "each is sent";
    EXPECT_EQ(redis.commands("evalsha").size(), 9U) << "once";
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("1 charges for .* were dropped: .*\\(1 dropped so far\\)"), 1U);
    EXPECT_EQ(world.logged("takes charges again"), 1U);
    EXPECT_EQ(world.logged("doubt|lost|does not serve"), 0U);
}

/// Charges that waited are summed by window; where the sum is in doubt, all of them are counted.
TEST(ChargesInDoubt, AreAllThatWereSummed) {
    Scenario world({"one", "99r/h"});
    Scripted redis(world.events, world.network, Scenario::primary_address,
                   taking(reset_of_all, [](std::size_t, ScriptedClient& client, const std::string&) {
                       return client.reset();
                   }));
    redis.stop();
    EXPECT_EQ(world.admitted(10, "a"), 10U);
    redis.start();
    EXPECT_TRUE(world.until([&world] { return world.logged("in doubt so far") == 1; }));
    world.pass(10'000);
    EXPECT_EQ(redis.writes().size(), 1U);
    EXPECT_EQ(redis.charged()[stored_key("a", "3600", "one")], 10);
    EXPECT_EQ(world.logged("\\(10 in doubt so far\\)"), 1U);
}

/// Answers that need no write, as a reservation that does not fit gets, are no proof that a primary takes
/// charges again.
TEST(TheGateOfCharges, IsOpenedByAWriteAlone) {
    Scenario world({"default", "1000r/h"});
    world.setup.limits.push_back({"r", "9r/h", "charge_refund"});
    bool room = false;
    Scripted redis(world.events, world.network, Scenario::primary_address,
                   [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                       return !is_write(words)        ? words[0] == "hmget" ? hmget({}, {}) : fallback(words)
                                     : words.size() >= 10 ? integers({0, 9, reset_of_all})
                              : !room                 ? error(oom)
                              : words[0] == "hincrby" ? integer(2)
                                                      : integers({1, reset_of_all});
                   });
    const auto charges = [&redis] {
        const auto all = redis.writes();
        return std::count_if(all.begin(), all.end(), [](const Command& words) { return words.size() < 10; });
    };
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(world.ask(RequestSetup(std::to_string(i)).under({"default"})), "PASSED");
    }
    EXPECT_EQ(world.logged("refuses charges: oom"), 1U);
    const auto before = charges();
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(world.ask(RequestSetup(std::to_string(i)).under({"r"})), "REJECTED");
    }
    EXPECT_EQ(static_cast<std::size_t>(charges()) + 50U, redis.writes().size()) << "each was asked";
    EXPECT_LE(charges() - before, 1) << "charges are not tried for that";
    EXPECT_EQ(world.logged("takes charges again"), 0U);
    room = true;
    EXPECT_TRUE(world.until([&world] { return world.logged("takes charges again") == 1; }));
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("doubt|dropped|lost"), 0U);
}

/// A user may call HINCRBY and not EVALSHA, or a server has lost its Lua: each plain increment that is taken
/// says nothing of the scripts by which all that waits goes.
TEST(TheGateOfCharges, IsNotOpenedByOneCommandForAnother) {
    for (const char* refusal : {"NOPERM this user has no permissions to run the 'evalsha' command",
                                "ERR unknown command 'evalsha', with args beginning with: 'x' '1' "}) {
        Scenario world({"default", "1000r/h"});
        world.setup.limits.push_back({"r", "1000r/h", "charge_refund"});
        bool scripts = true;
        Scripted redis(world.events, world.network, Scenario::primary_address,
                       [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                           return words[0] == "hincrby" ? integer(2)
                                  : words[0] == "hmget" ? hmget({}, {})
                                  : !is_write(words)    ? fallback(words)
                                  : !scripts            ? error(refusal)
                                  : words.size() > 9    ? integers({1, 1, reset_of_all})
                                                        : integers({1, reset_of_all});
                       });
        EXPECT_EQ(world.ask(RequestSetup("open").under({"r"})), "PASSED") << refusal;
        world.let_connections_age();
        scripts = false;
        for (int i = 0; i < 80; ++i) {
            EXPECT_EQ(world.ask(RequestSetup(std::to_string(i)).under({"default"})), "PASSED") << refusal;
        }
        redis.forget();
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(world.ask(RequestSetup("open").under({"r"})), "PASSED") << refusal;
            world.pass(100);
        }
        EXPECT_GE(redis.commands("hincrby").size(), 100U) << refusal;
        EXPECT_LE(redis.commands("evalsha").size() + redis.commands("eval").size(), 20U) << refusal;
        scripts = true;
        EXPECT_TRUE(world.until([&] { return redis.charged().size() >= 81; })) << refusal;
        EXPECT_EQ(world.logged("takes charges again"), 1U) << refusal;
        EXPECT_EQ(world.logged("were dropped|are lost|are in doubt"), 0U) << refusal;
    }
}

/// In a large zone what waits is not found at once, and the next charge is the probe: it goes by the script,
/// for a plain increment that is taken says nothing of what waits.
TEST(TheGateOfCharges, IsProbedByScripts) {
    Scenario world({"default", "1000000r/h"});
    world.setup.zone_size = std::size_t{64} << 20;
    bool scripts = true;
    Scripted redis(world.events, world.network, Scenario::primary_address,
                   [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                       const bool open = words.size() > 1 && words[1].find(":open") != std::string::npos;
                       return words[0] == "hmget"     ? open ? hmget(1, reset_of_all) : hmget({}, {})
                                  : words[0] == "hincrby" ? integer(2)
                              : !is_write(words)      ? fallback(words)
                              : !scripts              ? error("NOPERM this user has no permissions")
                                                      : integers({1, reset_of_all});
                   });
    EXPECT_EQ(world.ask("open"), "PASSED");
    scripts = false;
    for (const char* key : {"a", "b", "c"}) {
        EXPECT_EQ(world.ask(key), "PASSED");
    }
    redis.forget();
    for (int i = 0; i < 2'000; ++i) {
        EXPECT_EQ(world.ask("open"), "PASSED");
        world.pass(10);
    }
    EXPECT_EQ(world.logged("takes charges again"), 0U);
    EXPECT_LE(redis.writes().size(), 20U);
    scripts = true;
    EXPECT_TRUE(world.until([&] { return world.logged("takes charges again") == 1; }));
}

/// A user has all rights that windows need, and not those of buckets. Charges of windows do not wait behind
/// those of buckets, which are told as lost.
TEST(ChargesOfWindows, DoNotWaitBehindBucketsThatAreRefused) {
    Scenario world({"w", "1000r/h"});
    world.setup.limits.push_back({"b", "60r/h", "charge_refund", 100});
    Scripted redis(world.events, world.network, Scenario::primary_address,
                   [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                       return words[0] == "hmget"     ? hmget({}, {})
                              : words[0] == "hincrby" ? integer(2)
                              : !is_write(words)      ? fallback(words)
                              : words[1] == script(ScriptName::bucket).digest()
                                  ? error("ERR ACL failure in script: User u has no permissions to run 'set'")
                                  : integers({1, reset_of_all});
                   });
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(world.ask(RequestSetup("b" + std::to_string(i % 100)).under({"b"})), "ERROR_ALLOWED");
        EXPECT_EQ(world.ask(RequestSetup("w" + std::to_string(i % 10)).under({"w"})), "PASSED");
        world.pass(50);
    }
    std::int64_t stored = 0;
    for (const auto& [key, count] : redis.charged()) {
        stored += key.find("rl:w/") == 0 ? count : 0;
    }
    EXPECT_EQ(stored, 300);
    EXPECT_LE(redis.writes().size(), 1'000U);
    EXPECT_EQ(counted(world, Write::charges_expired), 0U);
    EXPECT_EQ(counted(world, Write::charges_dropped), 300U);
    EXPECT_GE(world.logged("charges for .* were dropped: noperm"), 1U);
}

/// No bucket may be charged while a script may not run at all. That may be for a moment: what is owed waits.
TEST(ChargesOfBuckets, WaitWhereNoScriptMayRun) {
    OneMachine world({"default", "60r/h", "charge_refund", 100});
    world.worker();
    world.pass(1'000);
    auto& state = world.primary.server().state;
    state.forbidden = {"eval", "evalsha"};
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(world.ask("k" + std::to_string(i)), "ERROR_ALLOWED");
        world.pass(100);
    }
    state.forbidden.clear();
    world.pass(30'000);
    EXPECT_EQ(counted(world, Write::charges_stored), 50U);
    EXPECT_EQ(world.logged("were dropped|are in doubt|are lost"), 0U);
}

/// A user has the rights that buckets need, and not those of windows: what buckets are charged says nothing
/// of windows, and does not wait behind them.
TEST(TheGateOfCharges, IsNotOpenedByBucketsForWindows) {
    OneMachine world({"w", "1000r/h"});
    world.setup.limits.push_back({"b", "600000r/h", "charge_refund", 100000});
    world.worker();
    world.pass(1'000);
    Server& server = world.primary.server();
    server.state.forbidden = {"hset"};
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(world.ask(RequestSetup("w" + std::to_string(i)).under({"w"})), "PASSED");
    }
    const std::size_t before = server.commands();
    constexpr std::size_t requests = 2'000;
    for (std::size_t i = 0; i < requests; ++i) {
        ClientRequest& request = world.begin(RequestSetup("b" + std::to_string(i)).under({"b"}));
        world.pass(5);
        request.end_at_cost(3);
        world.pass(5);
    }
    world.pass(1'000);
    EXPECT_LE(server.commands() - before, 2 * requests + 40) << "what is taken, what is settled, and probes";
    EXPECT_EQ(world.logged("takes charges again"), 0U);
    EXPECT_GE(counted(world, Write::charges_stored), requests - 10) << "few leave with a probe, and wait";
    server.state.forbidden.clear();
    EXPECT_TRUE(world.until([&] { return counted(world, Write::charges_stored) == requests + 200; }));
    EXPECT_EQ(world.logged("takes charges again"), 1U);
    EXPECT_EQ(world.logged("were dropped|are in doubt|are lost"), 0U);
}

/// A server that runs no scripts is told as what it is, with what to do. Checks go on; what takes a script
/// goes by rate_limit_on_error; charges wait, and are stored when the server has Lua.
void expect_without_lua(const std::string& of_evalsha, const std::string& of_eval) {
    Scenario world({"default", "1000r/h"});
    world.setup.limits.push_back({"r", "1000r/h", "charge_refund"});
    world.setup.limits.push_back({"l", "1000r/h", "lease"});
    world.setup.limits.push_back({"b", "10r/h", "charge_refund", 100});
    world.setup.on_error = OnError::deny;
    bool lua = false;
    Scripted redis(world.events, world.network, Scenario::primary_address,
                   [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                       const bool needs_lua = words[0].rfind("eval", 0) == 0 || words[0] == "script";
                       return words[0] == "hmget"     ? hmget({}, {})
                              : !lua && needs_lua     ? error(words[0] == "evalsha" ? of_evalsha : of_eval)
                              : words[0] == "hincrby" ? integer(2)
                              : !is_write(words)      ? fallback(words)
                              : words.size() > 9      ? integers({1, 1, reset_of_all})
                                                      : integers({1, reset_of_all});
                   });
    const std::string remedy =
        "nolua: it runs no Lua scripts, by which all is charged: use a server that is built with Lua, and "
        "rename neither EVAL nor EVALSHA";
    for (const char* key : {"a", "b", "c", "d", "e", "a"}) {
        EXPECT_EQ(world.ask(RequestSetup(key).under({"default"})), "PASSED") << of_evalsha;
    }
    for (const char* limit : {"r", "l", "b"}) {
        EXPECT_EQ(world.ask(RequestSetup("k").under({limit})), "ERROR_DENIED") << limit << ", " << of_evalsha;
    }
    EXPECT_EQ(world.logged("primary \\S+ of \"main\" refuses charges: " + remedy + " \\(charge\\.lua: \""),
              1U)
        << of_evalsha;
    EXPECT_GE(world.logged("could not be \\w+: " + remedy), 1U) << of_evalsha;
    world.pass(60'000);
    // The waits between tries grow from 50 ms on, and from the seventh on each is 2.5 s or more. A try may be
    // two commands: by the script's digest, and with its text.
    EXPECT_LE(redis.writes().size(), 2U * (10 + 24)) << of_evalsha;
    lua = true;
    redis.forget();
    EXPECT_TRUE(world.until([&] { return redis.charged()[stored_key("a")] >= 2; })) << of_evalsha;
    EXPECT_EQ(world.ask(RequestSetup("k").under({"r"})), "PASSED") << of_evalsha;
    world.pass(1'000);
    EXPECT_EQ(redis.charged()[stored_key("a")], 2) << of_evalsha;
    EXPECT_EQ(world.logged("primary \\S+ of \"main\" takes charges again"), 1U) << of_evalsha;
    EXPECT_EQ(world.logged("were dropped|are lost|are in doubt"), 0U) << of_evalsha;
}

TEST(AServerWithoutLua, HasItsChargesWaitWhileChecksGoOn) {
    const std::string unknown = "ERR unknown command 'evalsha', with args beginning with: 'x' '1' ";
    const std::string old = "ERR unknown command `EVALSHA`, with args beginning with: ";
    expect_without_lua(unknown, "ERR unknown command 'eval', with args beginning with: 'x' '1' ");
    expect_without_lua(old, "ERR unknown command `EVAL`, with args beginning with: ");
    expect_without_lua("NOSCRIPT No matching script.", "ERR Could not find scripting engine 'lua'");
}

/// Whoever looks up a bucket or slots, which takes a script, is told why that fails; checks go on there.
TEST(AServerThatRefusesScripts, ServesReadsAndTellsWhoLooksUp) {
    const std::map<std::string, std::string> refusals = {
        {"nolua", "ERR unknown command 'evalsha', with args beginning with: "},
        {"noperm", "NOPERM this user has no permissions to run the 'evalsha' command"},
        {"oom", oom}};
    for (const auto& [reason, refusal] : refusals) {
        Scenario world({"default", "1000r/h"});
        world.setup.on_error = OnError::deny;
        world.setup.limits.push_back({"bucket", "10r/h", "charge_refund", 100});
        world.setup.limits.push_back({"slots", "5"});
        world.setup.limits.back().running = true;
        Scripted redis(world.events, world.network, Scenario::primary_address,
                       [words_of = refusal](const Command& words, ScriptedClient&) -> ScriptedReply {
                           return words[0] == "hmget"                                      ? hmget({}, {})
                                  : words[0].rfind("eval", 0) == 0 || words[0] == "script" ? error(words_of)
                                                                                           : fallback(words);
                       });
        for (int round = 0; round < 3; ++round) {
            for (const std::string limit : {"bucket", "slots"}) {
                const ActResult told = act(world, "key=k&store=main&limit=" + limit);
                EXPECT_EQ(told.error, ActError::store_unavailable) << limit;
                EXPECT_NE(told.description.find("cannot be asked: " + reason), std::string::npos)
                    << limit << ": " << told.description;
                EXPECT_EQ(world.ask(RequestSetup("k").under({"default"})), "PASSED") << reason;
            }
        }
        EXPECT_EQ(world.logged("does not serve"), 0U) << reason;
    }
}

/// A slot of a cluster moves to a node that refuses writes: that node's line says why its charges wait. That
/// the slot moves is no such reason.
TEST(ARefusedCharge, IsToldWhereItsSlotMoves) {
    constexpr const char* first_node = "10.0.0.1:7000";
    constexpr const char* second_node = "10.0.0.2:7000";
    const std::int64_t moving = key_slot(stored_key("moving"));
    for (const auto& [refusal, why] : std::map<std::string, std::string>{
             {oom, "oom: its maxmemory is reached"},
             {"NOPERM this user has no permissions to run the 'evalsha' command", "noperm: its user"},
             {"TRYAGAIN Multiple keys request during rehashing of slot", ""}}) {
        SCOPED_TRACE(refusal);
        Scenario world({"default", "99r/h"});
        StoreSetup store;
        store.seeds = {first_node};
        world.setup.stores = {store};
        bool refuses = true;
        std::size_t taken = 0;
        const std::string map = cluster_slots(
            {{0, moving, {node_at(first_node)}}, {moving + 1, last_slot, {node_at(second_node)}}});
        const auto answer = [&](const Command& words) {
            return words[0] == "cluster" ? map : serve(words, reset_of_all).bytes;
        };
        Scripted from(world.events, world.network, first_node,
                      [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                          return slot_of(words) == moving ? ask(moving, second_node) : answer(words);
                      });
        Scripted to(world.events, world.network, second_node,
                    [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                        const bool charges = slot_of(words) == moving && is_write(words);
                        taken += charges && !refuses ? 1 : 0;
                        return charges && refuses ? error(refusal) : answer(words);
                    });
        world.worker();
        world.pass(2'000);
        EXPECT_EQ(world.ask("moving"), "PASSED");
        world.pass(10'000);
        const std::size_t told = world.logged("primary 10.0.0.2:7000 of \"main\" answered .*: " + why);
        EXPECT_EQ(told != 0, !why.empty());
        EXPECT_LE(told, 11U);
        refuses = false;
        world.pass(10'000);
        EXPECT_EQ(taken, 1U);
        EXPECT_EQ(world.logged("lost|dropped|doubt"), 0U);
    }
}

}  // namespace
}  // namespace rate_limit::world::refused_charges_test
