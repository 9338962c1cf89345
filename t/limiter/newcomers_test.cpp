// Servers that others name and that are not there: each has its own connection, and together they have a
// bounded number of lines in the log, which tell how many they were.

#include <algorithm>
#include <functional>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "t/limiter/scenario.h"
#include "t/limiter/scripted_cluster.h"

namespace rate_limit::world::newcomers_test {
namespace {

constexpr const char* first = "10.0.0.1:7000";

/// The servers with lines of their own.
std::set<std::string> named(const Scenario& world) {
    static const std::regex own("rate limit: (?:primary|replica) (\\S+) of .* (?:is down|does not serve): ");
    std::set<std::string> all;
    for (const std::string& line : world.lines()) {
        std::smatch found;
        if (std::regex_search(line, found, own)) {
            all.insert(found[1]);
        }
    }
    return all;
}

/// How many servers the log tells of by their number.
std::size_t numbered(const Scenario& world) {
    static const std::regex number("rate limit: (\\d+) more servers that servers of \"main\" name");
    std::size_t count = 0;
    for (const std::string& line : world.lines()) {
        std::smatch found;
        count += std::regex_search(line, found, number) ? std::stoul(found[1]) : 0;
    }
    return count;
}

std::size_t lines_of_servers(const Scenario& world) {
    return world.lines().size() - world.logged("could not be checked");
}

struct Named {
    const char* what;
    std::function<std::string(std::mt19937&)> address;
};

const Named all_named[] = {
    {"addresses",
     [](std::mt19937& random) {
         return "10.1." + std::to_string(random() % 256) + '.' + std::to_string(random() % 256) + ":7000";
     }},
    {"ports", [](std::mt19937& random) { return "10.1.0.1:" + std::to_string(1 + random() % 60'000); }},
    {"names",
     [](std::mt19937& random) { return "host" + std::to_string(random() % 1'000'000) + ".test:7000"; }},
};

TEST(RedirectionsToNobody, AreToldByTheirNumber) {
    for (const Named& kind : all_named) {
        SCOPED_TRACE(kind.what);
        std::mt19937 random(1);
        std::set<std::string> addresses;
        Scenario world({"w", "1000000r/h", "charge_refund"});
        StoreSetup& store = world.setup.stores.front();
        store.shards.clear();
        store.seeds = {first};
        Scripted node(world.events, world.network, first,
                      [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                          const auto slot = slot_of(words);
                          if (words[0] == "cluster" || !slot) {
                              return words[0] == "cluster" ? one_primary(first) : fallback(words);
                          }
                          return moved(*slot, *addresses.insert(kind.address(random)).first);
                      });
        world.worker();
        world.pass(1'000);
        for (int i = 0; i < 6'000; ++i) {  // a minute
            ClientRequest& request = world.begin(RequestSetup("k" + std::to_string(i % 100)));
            world.pass(10);
            if (request.is_admitted()) {
                request.end();
            }
        }
        world.pass(2'000);
        EXPECT_GE(addresses.size(), 1'000U);
        EXPECT_LE(lines_of_servers(world), 150U);
        // A server may be forgotten and named again, so that it is told twice; one that has not failed yet is
        // not told.
        const std::size_t told = named(world).size() + numbered(world);
        EXPECT_GE(told * 100, addresses.size() * 95);
        EXPECT_LE(told * 100, addresses.size() * 135);
    }
}

/// A few servers that are not there are told by name; one that comes up has an end of its outage, as ever.
TEST(AFewNewcomers, AreToldByName) {
    Scenario world({"w", "1000000r/h", "charge_refund"});
    StoreSetup& store = world.setup.stores.front();
    store.shards.clear();
    store.seeds = {first};
    const std::string second = "10.0.0.2:7000";
    Scripted node(
        world.events, world.network, first, [&](const Command& words, ScriptedClient&) -> ScriptedReply {
            const auto slot = slot_of(words);
            return words[0] == "cluster" ? one_primary(first) : slot ? moved(*slot, second) : fallback(words);
        });
    Scripted other(
        world.events, world.network, second,
        [second](const Command& words, ScriptedClient&) -> ScriptedReply {
            return slot_of(words) ? integers({1, 1, Loop::usual_wall_clock + 1'800'000}) : fallback(words);
        });
    other.stop();
    world.worker();
    world.pass(1'000);
    EXPECT_EQ(world.ask("k"), "ERROR_ALLOWED");
    EXPECT_EQ(world.logged("primary 10.0.0.2:7000 of \"main\" is down: "), 1U);
    EXPECT_EQ(world.logged("more servers"), 0U);
    other.start();
    EXPECT_TRUE(
        world.until([&] { return world.logged("primary 10.0.0.2:7000 of \"main\" is up again") == 1; }));
}

/// Sixteen have lines of their own in a minute, and each of the others is counted once. One that has been up
/// has lines of its own, and so has one that still fails a minute later.
TEST(ReplicasThatAreDown, AreToldByNameUpToSixteenInAMinute) {
    Scenario world({"w", "1000000r/h"});
    StoreSetup& store = world.setup.stores.front();
    store.shards.clear();
    store.seeds = {first};
    store.fresh = 0;
    std::vector<std::string> replicas;
    for (int i = 1; i <= 20; ++i) {
        replicas.push_back("10.0.1." + std::to_string(i) + ":7000");
    }
    const auto handler = [&](const Command& words, ScriptedClient&) -> ScriptedReply {
        return words[0] == "cluster" ? one_primary(first, replicas)
               : slot_of(words)      ? serve(words, Loop::usual_wall_clock + 1'800'000)
                                     : fallback(words);
    };
    Scripted node(world.events, world.network, first, handler);
    const auto ask_often = [&](Msec time) {
        for (Msec passed = 0; passed < time; passed += 100) {
            (void)world.ask("k");
            world.pass(100);
        }
    };
    world.worker();
    ask_often(10'000);
    EXPECT_EQ(named(world).size(), 16U);
    EXPECT_EQ(numbered(world), 4U);
    const std::set<std::string> before = named(world);
    const std::string other =
        *std::find_if(replicas.begin(), replicas.end(),
                      [&](const std::string& replica) { return before.count(replica) == 0; });
    Scripted late(world.events, world.network, other, handler);
    ask_often(20'000);
    EXPECT_GE(late.commands("hmget").size(), 1U);
    EXPECT_EQ(world.logged("is up again"), 0U) << "nobody was told that it was down";
    late.stop();
    ask_often(10'000);
    EXPECT_EQ(named(world).size(), 17U);
    EXPECT_EQ(named(world).count(other), 1U);
    EXPECT_EQ(numbered(world), 4U);
    ask_often(60'000);
    EXPECT_EQ(named(world).size(), replicas.size());
    EXPECT_EQ(numbered(world), 4U);
}

TEST(ServersOfTheConfiguration, AreAllToldByName) {
    Scenario world({"w", "1000000r/h"});
    std::vector<ShardSetup>& shards = world.setup.stores.front().shards;
    shards.clear();
    for (int i = 1; i <= 20; ++i) {
        shards.push_back({"s" + std::to_string(i), "10.0.1." + std::to_string(i) + ":6379"});
    }
    world.worker();
    for (int i = 0; i < 300; ++i) {
        (void)world.ask("k" + std::to_string(i));
    }
    world.pass(10'000);
    EXPECT_EQ(named(world).size(), shards.size());
    EXPECT_EQ(numbered(world), 0U);
}

}  // namespace
}  // namespace rate_limit::world::newcomers_test
