// Servers that others name and that are not there: each has its own connection, and together they have a
// bounded number of lines in the log, which tell how many they were.

#include <functional>
#include <random>
#include <regex>
#include <set>
#include <string>

#include "t/limiter/scenario.h"
#include "t/limiter/scripted_cluster.h"

namespace rate_limit::world::newcomers_test {
namespace {

constexpr const char* first = "10.0.0.1:7000";

/// How many servers the log tells of: those with lines of their own, and those in a number.
std::size_t told(const Scenario& world) {
    static const std::regex number("rate limit: (\\d+) more servers that those of \"main\" name");
    static const std::regex own("rate limit: (?:primary|replica) (\\S+) of .* (?:is down|does not serve): ");
    std::size_t count = 0;
    std::set<std::string> named;
    for (const std::string& line : world.lines()) {
        std::smatch found;
        if (std::regex_search(line, found, number)) {
            count += std::stoul(found[1]);
        } else if (std::regex_search(line, found, own)) {
            named.insert(found[1]);
        }
    }
    return count + named.size();
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
    for (const Named& named : all_named) {
        SCOPED_TRACE(named.what);
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
                          return moved(*slot, *addresses.insert(named.address(random)).first);
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
        // One may be forgotten and named again, or before it has failed.
        EXPECT_NEAR(static_cast<double>(told(world)) / static_cast<double>(addresses.size()), 1.15, 0.2);
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

}  // namespace
}  // namespace rate_limit::world::newcomers_test
