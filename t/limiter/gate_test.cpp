// A primary takes some charges and refuses others: those that it takes are stored in time, and those that it
// refuses are tried seldom.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "t/limiter/checked.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/scripted_cluster.h"
#include "t/world/sentinel.h"

namespace rate_limit::world::gate_test {
namespace {

constexpr std::uint64_t clients = 100;

/// A sentinel names the primary from now on.
void name_primary(Sentinel& sentinel, const std::string& address, std::uint64_t epoch) {
    sentinel.watch("m").primary = address;
    sentinel.watch("m").epoch = epoch;
}

void discover(Scenario& world, Sentinel& sentinel) {
    name_primary(sentinel, Scenario::primary_address, 1);
    StoreSetup& store = world.setup.stores.front();
    store.shards = {{"a", "", {}, "m"}};
    store.sentinels = {sentinel.address()};
}

/// A user may charge buckets and open no windows, and 200 windows wait.
void wait_for_windows(Scenario& world, Server& server) {
    world.setup.limits.push_back({"b", "3600r/h", "charge_refund", 1000});
    world.worker();
    world.pass(1'000);
    server.state.forbidden = {"hset"};
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(world.ask(RequestSetup("w" + std::to_string(i)).under({"w"})), "PASSED");
    }
    world.pass(20'000);
}

/// Each client has taken 1 of its bucket.
std::vector<ClientRequest*> begin_at_buckets(Scenario& world) {
    std::vector<ClientRequest*> requests;
    for (std::uint64_t i = 0; i < clients; ++i) {
        requests.push_back(&world.begin(RequestSetup("b" + std::to_string(i)).under({"b"})));
    }
    world.pass(100);
    return requests;
}

/// Each request costs 40: the tokens of half a minute and more.
void end_all(const std::vector<ClientRequest*>& requests) {
    for (ClientRequest* request : requests) {
        request->end_at_cost(40);
    }
}

/// The primary goes away before it hears what they cost.
void owe_to_buckets(Scenario& world, const std::function<void()>& go_away) {
    const auto requests = begin_at_buckets(world);
    go_away();
    world.pass(100);
    end_all(requests);
    world.pass(1'000);
}

/// Limits by buckets. One request charges all of them in one turn of the loop.
std::vector<std::string> add_buckets(Scenario& world) {
    std::vector<std::string> names;
    for (int i = 0; i < 12; ++i) {
        names.push_back("b" + std::to_string(i));
        world.setup.limits.push_back({names.back(), "3600r/h", "charge_refund", 1000});
    }
    return names;
}

/// Serves as that server does, but for writes while `writes` is false: it does not answer those.
Handler answering_writes(Redis& redis, const bool& writes) {
    return relaying(redis, [&writes](const Command& words, ScriptedClient&, std::string answer) {
        return writes || !is_write(words) ? ScriptedReply(std::move(answer)) : hold("writes", answer);
    });
}

/// A charge to a bucket does not wait behind the windows until it is worth nothing any more, though no
/// request comes. Many are sent at once, for the way is long.
TEST(WhatBucketsAreOwed, DoesNotWaitBehindWindowsThatAreRefused) {
    OneMachine world({"w", "1000r/h"});
    Server& server = world.primary.server();
    wait_for_windows(world, server);
    owe_to_buckets(world, [&world] { world.primary.kill(true); });
    world.primary.link().there += 40'000;
    EXPECT_EQ(counted(world, Write::charges_stored), 0U);
    world.primary.start();
    world.pass(3'000);
    const std::uint64_t before = server.commands();
    EXPECT_EQ(counted(world, Write::charges_stored), clients);
    world.pass(30'000);
    EXPECT_LE(server.commands() - before, 60U) << "windows are tried seldom";
    EXPECT_EQ(world.logged("takes charges again"), 0U);
    server.state.forbidden.clear();
    EXPECT_TRUE(world.until([&] { return counted(world, Write::charges_stored) == clients + 200; }, 10'000));
    EXPECT_EQ(counted(world, Write::charges_expired), 0U);
    EXPECT_EQ(world.logged("were dropped|are in doubt|are lost"), 0U);
}

/// The windows that were refused have closed: none waits that could show that the primary takes those.
TEST(WhatBucketsAreOwed, IsSentByManyAfterRefusedWindowsHaveClosed) {
    OneMachine world({"w", "1000r/m"});
    wait_for_windows(world, world.primary.server());
    world.pass(70'000);
    EXPECT_EQ(counted(world, Write::charges_expired), 200U);
    owe_to_buckets(world, [&world] { world.primary.kill(true); });
    world.primary.link().there += 40'000;
    EXPECT_EQ(counted(world, Write::charges_stored), 0U);
    world.primary.start();
    world.pass(3'000);
    EXPECT_EQ(counted(world, Write::charges_stored), clients);
    EXPECT_EQ(counted(world, Write::charges_expired), 200U);
}

/// A primary that comes back may answer PING, and no writes to buckets. What is sent to it then ends in
/// doubt: it is one charge at a time, also after one of a window was refused.
TEST(WhatBucketsAreOwed, IsTriedByOneCharge) {
    Scenario world({"w", "1000r/h"});
    Redis redis(world.events, world.network, "10.0.0.9:6379");
    bool writes = true;
    Scripted primary(world.events, world.network, Scenario::primary_address, answering_writes(redis, writes));
    wait_for_windows(world, redis.server());
    owe_to_buckets(world, [&primary] { primary.stop(); });
    writes = false;
    primary.start();
    world.pass(30'000);
    EXPECT_GE(counted(world, Loss::charges_in_doubt), 1U);
    EXPECT_LE(counted(world, Loss::charges_in_doubt), 20U);
    EXPECT_EQ(counted(world, Write::charges_stored), 0U);
}

/// The user might open no windows for a while, and has opened them since. That says nothing of a later
/// outage: all that is owed waits for one charge then.
TEST(WhatBucketsAreOwed, IsTriedByOneChargeOnceWindowsAreTakenAgain) {
    Scenario world({"w", "1000r/h"});
    Redis redis(world.events, world.network, "10.0.0.9:6379");
    bool writes = true;
    Scripted primary(world.events, world.network, Scenario::primary_address, answering_writes(redis, writes));
    const auto buckets = add_buckets(world);
    wait_for_windows(world, redis.server());
    redis.server().state.forbidden.clear();
    EXPECT_TRUE(world.until([&] { return counted(world, Write::charges_stored) == 200; }, 10'000));
    ClientRequest& request = world.begin(RequestSetup("k").under(buckets));
    world.pass(100);
    primary.stop();
    EXPECT_EQ(check(world, RequestSetup("w").under({"w"})), "ERROR_ALLOWED");
    writes = false;
    primary.start();
    EXPECT_TRUE(world.until([&] { return world.logged("is up again") == 1; }));
    request.end_at_cost(40);
    world.pass(10'000);
    EXPECT_GE(counted(world, Loss::charges_in_doubt), 1U);
    EXPECT_LE(counted(world, Loss::charges_in_doubt), 3U);
}

/// The former primary's user might open no windows. That says nothing of the next one: all that is owed waits
/// for one charge there.
TEST(WhatBucketsAreOwed, IsTriedByOneChargeAtAnotherPrimary) {
    OneMachine world({"w", "1000r/m"});
    Redis redis(world.events, world.network, "10.0.0.9:6379");
    const bool writes = false;
    Scripted next(world.events, world.network, "10.0.0.2:6379", answering_writes(redis, writes));
    Sentinel sentinel(world.network, "10.0.1.1:26379");
    discover(world, sentinel);
    const auto buckets = add_buckets(world);
    wait_for_windows(world, world.primary.server());
    world.pass(70'000);  // none waits that would be that charge
    ClientRequest& request = world.begin(RequestSetup("k").under(buckets));
    world.pass(100);
    name_primary(sentinel, next.address(), 2);
    EXPECT_TRUE(world.until([&] { return world.logged("before it was") == 1; }, 10'000));
    request.end_at_cost(40);
    world.pass(10'000);
    EXPECT_GE(counted(world, Loss::charges_in_doubt), 1U);
    EXPECT_LE(counted(world, Loss::charges_in_doubt), 3U);
}

/// The primary comes back as a replica, and its INFO says so, while windows wait that its user might not
/// open. Nothing is sent to it that is owed to buckets.
TEST(WhatBucketsAreOwed, IsNotSentToAPrimaryThatIsAReplica) {
    Scenario world({"w", "1000r/h"});
    Redis redis(world.events, world.network, "10.0.0.9:6379");
    const bool writes = true;
    Scripted primary(world.events, world.network, Scenario::primary_address, answering_writes(redis, writes));
    Sentinel sentinel(world.network, "10.0.1.1:26379");
    discover(world, sentinel);
    wait_for_windows(world, redis.server());
    const auto requests = begin_at_buckets(world);
    redis.server().state.role = ServerRole::replica;
    primary.drop();
    primary.forget();
    EXPECT_EQ(world.ask(RequestSetup("w").under({"w"})), "PASSED");
    end_all(requests);
    world.pass(5'000);
    EXPECT_EQ(primary.writes().size(), 0U);
    redis.server().state.role = ServerRole::primary;
    EXPECT_TRUE(world.until([&] { return counted(world, Write::charges_stored) == clients; }, 10'000));
    EXPECT_EQ(world.logged("were dropped|are in doubt|are lost"), 0U);
}

/// A slot moves to a node that is down, while windows wait that the user may not open. What a bucket of that
/// slot is owed is tried now and then.
TEST(WhatBucketsAreOwed, IsTriedSeldomWhereItIsLedNowhere) {
    constexpr const char* node = "10.0.0.1:7000";
    Scenario world({"w", "1000r/h"});
    world.setup.limits.push_back({"b", "60r/h", "charge_refund", 1000});
    StoreSetup store;
    store.seeds = {node};
    world.setup.stores = {store};
    std::size_t led = 0;
    Scripted from(
        world.events, world.network, node, [&](const Command& words, ScriptedClient&) -> ScriptedReply {
            const bool of_bucket = words.size() > 1 && words[1] == script(ScriptName::bucket).digest();
            led += of_bucket ? 1 : 0;
            return words[0] == "cluster" ? one_primary(node)
                   : of_bucket           ? ask(*slot_of(words), "10.0.0.2:7000")
                   : words[0] == "hmget" ? ScriptedReply(hmget({}, {}))
                   : is_write(words) ? error("NOPERM this user has no permissions to run the 'hset' command")
                                     : fallback(words);
        });
    world.worker();
    world.pass(2'000);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(world.ask(RequestSetup("w" + std::to_string(i)).under({"w"})), "PASSED");
    }
    world.pass(20'000);
    EXPECT_EQ(world.logged("refuses charges: noperm"), 1U);
    EXPECT_EQ(world.ask(RequestSetup("b").under({"b"})), "ERROR_ALLOWED");
    world.pass(100);
    EXPECT_GE(led, 1U);
    led = 0;
    world.pass(10'000);
    EXPECT_LE(led, 20U);
}

/// Charges wait because one worker has found the primary silent. A worker that has not noticed yet sends a
/// single one, and the rest when that is answered: no more is in doubt than a charge of each.
TEST(TheGateOfCharges, IsNotOpenToAWorkerThatHasNotNoticed) {
    OneMachine world({"w", "1000r/h"}, 60'000);
    world.setup.stores.front().check_timeout = 300;
    WorkerProcess& busy = world.worker(0);
    WorkerProcess& idle = world.worker(1);
    EXPECT_EQ(world.ask("busy", &busy), "PASSED");
    EXPECT_EQ(world.ask("idle", &idle), "PASSED");
    world.pass(100);
    world.primary.link().silent_there = true;
    EXPECT_EQ(world.ask("busy", &busy), "PASSED");
    ASSERT_TRUE(world.until([&world] { return world.logged("does not serve") == 1; }));
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(world.ask("waits" + std::to_string(i), &busy), "ERROR_ALLOWED");
    }
    ASSERT_TRUE(world.until([&world] { return world.logged("does not serve") == 2; }))
        << "the other one, too";
    world.primary.reset_connections();
    world.primary.link().silent_there = false;
    EXPECT_TRUE(world.until([&] { return counted(world, Write::charges_stored) >= 2 + 49; }));
    EXPECT_TRUE(world.stop_all());
    EXPECT_LE(counted(world, Loss::charges_in_doubt), 2U);
}

/// A user may charge open windows and open none. Each charge of an open one that is taken opens the gate to
/// those that are not: that comes ever more seldom.
TEST(TheGateOfCharges, FlapsSeldomWhereOpenWindowsAloneAreCharged) {
    constexpr std::size_t seconds = 60;
    for (const char* right : {"hset", "pexpire"}) {
        for (const auto& [hot, cold] : {std::pair(5, 400), std::pair(400, 5)}) {
            SCOPED_TRACE(right + std::string(" ") + std::to_string(hot));
            OneMachine world({"w", "100000r/h"});
            world.worker();
            world.pass(1'000);
            std::uint64_t asked = 0;
            const auto ask_all = [&](const std::string& name, int count, Msec gap) {
                for (int i = 0; i < count; ++i, ++asked) {
                    world.ask(RequestSetup(name + std::to_string(i)).under({"w"}));
                    world.pass(gap);
                }
            };
            ask_all("hot", hot, 0);
            world.pass(3'000);
            Server& server = world.primary.server();
            server.state.forbidden = {right};
            ask_all("cold", cold, 0);
            const std::uint64_t before = server.commands();
            const std::uint64_t from = asked;
            while (asked < from + 100 * seconds) {
                ask_all("hot", hot, 9);
            }
            EXPECT_LE(server.commands() - before, 2 * (asked - from)) << "a check and a charge of each";
            EXPECT_LE(world.logged("takes charges again"), 8 + seconds / 2);
            server.state.forbidden.clear();
            EXPECT_TRUE(world.until([&] { return counted(world, Write::charges_stored) == asked; }, 6'000));
            world.pass(10'000);
            for (std::size_t second = 0; second < 20; ++second) {
                ask_all("new" + std::to_string(second), 100, 9);
                world.pass(100);
                EXPECT_EQ(counted(world, Write::charges_stored), asked);
            }
            EXPECT_EQ(world.logged("were dropped|are in doubt|are lost"), 0U);
        }
    }
}

/// Any write that is taken shows that all may be, where the primary refused every command for want of memory.
TEST(TheGateOfCharges, IsOpenedByAnyWriteAfterRefusalsOfAll) {
    OneMachine world({"w", "1000r/h"});
    world.setup.limits.push_back({"r", "1000r/h", "charge_refund"});
    world.worker();
    world.pass(1'000);
    world.primary.server().state.out_of_memory = true;
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(world.ask(RequestSetup(std::to_string(i)).under({"w"})), "PASSED");
    }
    world.pass(30'000);  // tries come seldom
    world.primary.server().state.out_of_memory = false;
    EXPECT_EQ(world.ask(RequestSetup("k").under({"r"})), "PASSED");
    world.pass(100);
    EXPECT_EQ(world.logged("takes charges again"), 1U);
    EXPECT_EQ(counted(world, Write::charges_stored), 20U);
}

/// The primary refuses a command, and another one takes its place. That one refuses all writes now and then:
/// each time it is tried soon.
TEST(TheGateOfCharges, ForgetsAtAnotherPrimaryWhatTheFormerRefused) {
    OneMachine world({"w", "1000r/h"});
    Redis next(world.events, world.network, "10.0.0.2:6379");
    Sentinel sentinel(world.network, "10.0.1.1:26379");
    discover(world, sentinel);
    world.worker();
    world.pass(3'000);
    world.primary.server().state.forbidden = {"hset"};
    EXPECT_EQ(world.ask(RequestSetup("k").under({"w"})), "PASSED");
    world.pass(10);
    EXPECT_EQ(world.logged("refuses charges: noperm"), 1U);
    name_primary(sentinel, next.address(), 2);
    ASSERT_TRUE(world.until([&] { return counted(world, Write::charges_stored) == 1; }, 3'000));
    for (std::uint64_t i = 1; i <= 6; ++i) {
        next.server().state.out_of_memory = true;
        EXPECT_EQ(world.ask(RequestSetup(std::to_string(i)).under({"w"})), "PASSED");
        world.pass(10);
        next.server().state.out_of_memory = false;
        EXPECT_TRUE(world.until([&] { return counted(world, Write::charges_stored) == 1 + i; }, 1'000)) << i;
    }
}

}  // namespace
}  // namespace rate_limit::world::gate_test
