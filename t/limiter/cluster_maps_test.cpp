// Row 29 of the fault matrix. Maps of a cluster that are missing, odd, or too large; and charges that wait
// for the first one.

#include <string>
#include <vector>

#include "t/limiter/checked.h"
#include "t/limiter/scripted_cluster.h"

namespace rate_limit::world::cluster_maps_test {
namespace {

constexpr const char* seed = "10.0.0.1:7000";

struct SeededWorld : Scenario {
    explicit SeededWorld(const LimitSetup& limit = {"default", "1000r/24h"}, Msec timeout = 5'000)
        : Scenario(limit, timeout) {
        setup.stores.front().shards.clear();
        setup.stores.front().seeds = {seed};
    }

    bool serves(const std::string& key = "a") {
        return until([&] { return ask(key) == "PASSED"; });
    }
};

/// A node that answers CLUSTER SLOTS by `map`, and all else as the owner of all slots; or all by what is no
/// RESP.
Handler telling(const std::string& map, Millis reset) {
    return [&map, reset](const Command& words, ScriptedClient&) -> ScriptedReply {
        const bool is_map = words[0] == "cluster" || map.rfind("HTTP", 0) == 0;
        return is_map ? ScriptedReply(map) : serve(words, reset);
    };
}

/// The address after "cluster" is a server without cluster mode, a cluster without slots, a sentinel, no
/// Redis, or refuses CLUSTER SLOTS: the log says which, once.
TEST(NoMap, IsToldOnceAndUsedWhenItIsThere) {
    const std::pair<std::string, std::string> kinds[] = {
        {error("ERR This instance has cluster support disabled"),
         "a node has \"cluster-enabled no\": name it in \"shard\", not in \"cluster\" \\(10.0.0.1:7000: "
         "CLUSTER SLOTS: \"ERR "},
        {array({}), "a node knows of no slots: is the cluster created\\? \\(10.0.0.1:7000\\)"},
        {error("ERR unknown command 'CLUSTER', with args beginning with: 'SLOTS' "),
         "a node refuses it \\(10.0.0.1:7000: .*unknown command"},
        {"HTTP/1.1 400 Bad Request\r\n\r\n", "a node cannot be asked \\(10.0.0.1:7000: .+\\)"},
        {simple("OK"), "a node answers what is no map: is it Redis\\? \\(10.0.0.1:7000\\)"},
        {error("NOPERM this user has no permissions to run the 'cluster|slots' command"),
         "a node refuses it \\(10.0.0.1:7000: .*NOPERM.*cluster\\|slots"},
    };
    for (const auto& [answer, line] : kinds) {
        SeededWorld world;
        std::string map = answer;
        Scripted node(world.events, world.network, seed, telling(map, world.at(80'000'000)));
        world.worker();
        world.pass(500);
        EXPECT_EQ(world.logged("the cluster of \"main\" does not tell its map: " + line), 1U) << line;
        world.pass(5'000);
        const ClientRequest& request = world.begin("a");
        world.pass(1);
        EXPECT_EQ(outcome(request), "ERROR_ALLOWED") << line;
        EXPECT_EQ(request.waited(), 0U) << line;
        world.pass(5'000);
        EXPECT_EQ(world.logged("does not tell its map"), 1U) << line;
        map = one_primary(seed);
        EXPECT_TRUE(world.serves()) << line;
        EXPECT_EQ(world.logged("the cluster of \"main\" tells its map again"), 1U) << line;
    }
}

/// However many nodes are tried and how often, one line says that none can be asked.
TEST(DeadSeeds, AreToldOnce) {
    SeededWorld world;
    std::string map = one_primary(seed);
    for (int i = 2; i <= 12; ++i) {
        world.setup.stores.front().seeds.push_back("10.0.0." + std::to_string(i) + ":7000");
    }
    world.worker();
    world.pass(10'000);
    EXPECT_EQ(world.ask("a"), "ERROR_ALLOWED");
    world.pass(10'000);
    EXPECT_EQ(world.logged("the cluster of \"main\" does not tell its map: a node cannot be asked "
                           "\\(10.0.0.\\d+:7000: .*refused"),
              1U);
    EXPECT_EQ(world.logged("does not tell its map"), 1U);
    EXPECT_EQ(world.logged("is down|does not serve"), 0U) << "and none tells of each node";
    Scripted node(world.events, world.network, seed, telling(map, world.at(80'000'000)));
    EXPECT_TRUE(world.serves());
    EXPECT_EQ(world.logged("the cluster of \"main\" tells its map again"), 1U);
}

/// Nodes that announce no endpoint are asked for at the host that told the map;
/// of those that cannot be reached the log says why. A redirection to none leads nowhere.
TEST(AnnouncedEndpoints, AreOfTheHostThatWasAskedWhereTheyAreMissing) {
    for (const std::optional<std::string>& host :
         {std::optional<std::string>(), std::optional<std::string>("")}) {
        SeededWorld world;
        world.setup.stores.front().fresh = 0;
        std::string redirect;
        Scripted node(
            world.events, world.network, seed, [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                return words[0] == "cluster" ? cluster_slots({{0, last_slot, {{host, 7000}}}})
                       : words[0] == "hmget" && !redirect.empty() ? error(redirect)
                                                                  : serve(words, world.at(80'000'000));
            });
        EXPECT_TRUE(world.serves());
        const std::string slot = std::to_string(key_slot(stored_key("b", "86400")));
        for (const std::string& each :
             {"MOVED " + slot + " ?:7000", std::string("MOVED x"), std::string("MOVED 99999 127.0.0.1:1"),
              "MOVED " + slot, "MOVED " + slot + " :0", "ASK " + slot + " ?:1",
              "MOVED " + slot + " ::1:99999"}) {
            redirect = each;
            EXPECT_EQ(world.ask("b"), "ERROR_ALLOWED") << each;
        }
        redirect.clear();
        EXPECT_TRUE(world.serves()) << "nothing else comes of it";
    }
}

/// A node that announces a name is asked for at what that resolves to.
TEST(AnnouncedEndpoints, AreResolved) {
    SeededWorld world;
    world.setup.stores.front().resolves = true;
    world.network.lead("node.test", "10.0.0.9");
    const std::string map = cluster_slots({{0, last_slot, {{"node.test", 7001}}}});
    Scripted asked(world.events, world.network, seed, telling(map, world.at(80'000'000)));
    Scripted named(world.events, world.network, "10.0.0.9:7001", telling(map, world.at(80'000'000)));
    EXPECT_TRUE(world.serves());
    world.pass(100);
    EXPECT_EQ(asked.writes().size(), 0U);
    EXPECT_GE(named.writes().size(), 1U);
}

/// Redis 8 and Valkey tell of nodes that listen for TLS alone, or not for TLS, with port 0 where nginx asks
/// for the other.
TEST(AnnouncedEndpoints, WithoutAPortAreTold) {
    const std::string map = cluster_slots(
        {{0, 8191, {node_at(seed)}}, {8192, 12'000, {{"10.0.0.1", 0}}}, {12'001, last_slot, {{"?", 7000}}}});
    for (const bool encrypted : {false, true}) {
        SeededWorld world;
        world.setup.stores.front().encrypted = encrypted;
        Scripted node(world.events, world.network, seed, telling(map, world.at(80'000'000)));
        world.worker();
        world.pass(1'000);
        EXPECT_EQ(
            world.logged(encrypted ? "names 1 nodes without a port for TLS: set tls-port on them$"
                                   : "names 1 nodes without a port for clear text: set port on them, or "
                                     "\"ssl on\" here$"),
            1U);
        EXPECT_EQ(world.logged("names 1 nodes without an address: set cluster-announce-hostname"), 1U);
    }
}

TEST(AnnouncedEndpoints, ThatCannotBeReachedAreTold) {
    const std::pair<MapNode, const char*> odd[] = {
        {{"node.test", 7000},
         "primary node.test:7000 of \"main\" is down: its name cannot be resolved: add \"resolver\" to "
         "\"http\""},
        {{"?", 7000},
         "names 1 nodes without an address: set cluster-announce-hostname, or "
         "cluster-preferred-endpoint-type ip"}};
    for (const auto& [node, line] : odd) {
        SeededWorld world;
        std::string map = cluster_slots({{0, last_slot, {node}}});
        Scripted server(world.events, world.network, seed, telling(map, world.at(80'000'000)));
        world.worker();
        world.pass(1'000);
        EXPECT_EQ(world.ask("a"), "ERROR_ALLOWED") << line;
        EXPECT_EQ(world.logged(line), 1U) << line;
    }
}

/// Charges that wait before any map is known.
class ChargesWithoutAMap : public testing::Test {
protected:
    static constexpr int count = 500;

    void admit_all(SeededWorld& world) {
        world.worker();
        for (int i = 0; i < count; ++i) {
            EXPECT_EQ(world.ask(std::to_string(i)), "ERROR_ALLOWED");
        }
    }
};

TEST_F(ChargesWithoutAMap, FindTheirShardWhenItIsKnown) {
    SeededWorld world({"default", "1000r/24h"}, 2'000);
    admit_all(world);
    std::string map = one_primary(seed);
    Scripted node(world.events, world.network, seed, telling(map, world.at(80'000'000)));
    world.pass(30'000);
    EXPECT_EQ(node.charged().size(), static_cast<std::size_t>(count));
    for (const auto& [key, cost] : node.charged()) {
        EXPECT_EQ(cost, 1) << key;
    }
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("are in doubt|were dropped|are lost"), 0U);
}

TEST_F(ChargesWithoutAMap, ExpireWithTheirWindows) {
    SeededWorld world({"default", "1000r/s"}, 2'000);
    admit_all(world);
    world.pass(1'000);
    std::string map = one_primary(seed);
    Scripted node(world.events, world.network, seed, telling(map, world.at(1'000)));
    const auto expired = [&world] {
        const std::regex pattern(
            "(\\d+) charges for the cluster of \"main\" expired: their windows had closed");
        int sum = 0;
        for (const std::string& line : world.lines()) {
            std::smatch found;
            sum += std::regex_search(line, found, pattern) ? std::stoi(found[1]) : 0;
        }
        return sum;
    };
    world.pass(60'000);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(expired(), count) << "each is told";
    EXPECT_TRUE(node.charged().empty()) << "nothing is charged to the next windows";
    EXPECT_EQ(world.logged("are in doubt|are lost"), 0U);
}

/// A map that has no room in the memory that workers share is not used: the log says so once. Nodes that
/// refuse what does not fit the map are asked for it less and less often.
TEST(AMapThatIsTooLarge, IsNotUsed) {
    SeededWorld world({"default", "1000r/h", "charge_refund"}, 9'000);
    std::string name = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    name = name + '.' + name + '.' + name + '.' + name;
    std::vector<MapRange> ranges;
    for (std::int64_t i = 0; i < 6'000; ++i) {
        ranges.push_back({i, i, {{"n" + std::to_string(i) + '.' + name, 7000}}});
    }
    const std::string large = cluster_slots(ranges);
    std::string map = one_primary(seed);
    Scripted node(world.events, world.network, seed,
                  [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                      return words[0] == "cluster" ? ScriptedReply(map)
                             : slot_of(words)      ? error("CLUSTERDOWN Hash slot not served")
                                                   : fallback(words);
                  });
    world.worker();
    world.pass(2'000);
    map = large;
    node.forget();
    const char* told =
        "\"main\" has too many servers for the memory that workers share: its last topology holds";
    for (int i = 0; i < 100; ++i) {
        world.ask("a");
        world.pass(100);
    }
    // The gaps are 0.1, 0.2, 0.4, 0.8 s, and then a second each.
    EXPECT_GE(node.commands("cluster").size(), 8U);
    EXPECT_LE(node.commands("cluster").size(), 14U);
    EXPECT_EQ(world.logged(told), 1U);
    EXPECT_EQ(world.logged("primaries now"), 0U) << "and of no other primaries";
    map = one_primary(seed);
    EXPECT_EQ(world.ask("a"), "ERROR_ALLOWED");
}

}  // namespace
}  // namespace rate_limit::world::cluster_maps_test
