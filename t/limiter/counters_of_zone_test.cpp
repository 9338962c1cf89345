// Workers that are killed lose no counts: the next line of counters tells them, once for all workers.

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "limiter/zone.h"
#include "t/limiter/scenario.h"

namespace rate_limit::world::counters_of_zone_test {
namespace {

/// Each charge is dropped.
Handler refusing() {
    return taking(Loop::usual_wall_clock + 1'800'000, [](std::size_t, ScriptedClient&, const std::string&) {
        return ScriptedReply(error("WRONGTYPE wrong kind of value"));
    });
}

TEST(CountersOfAZone, SurviveKilledWorkers) {
    Scenario world({"default", "1000r/365d"}, 3'600'000);
    Scripted primary(world.events, world.network, Scenario::primary_address, refusing());
    const auto lose = [&](std::size_t charges) {
        for (std::size_t i = 0; i < charges; ++i) {
            EXPECT_EQ(world.ask("k", &world.worker(i % 4)), "PASSED");
            world.pass(10);
        }
    };
    const auto kill = [&] {
        for (int i = 0; i < 4; ++i) {
            world.kill();
        }
    };
    const auto told = [&](const std::string& count) {
        return world.logged("counters of \"main\" since \\S+ \\S+: .*, " + count +
                            " dropped, .*: wrongtype " + count + "$");
    };
    world.worker(3);
    lose(5);
    kill();
    world.worker(3);
    world.pass(120'000);
    EXPECT_EQ(told("5"), 1U) << "though nothing has happened since";
    lose(3);
    kill();
    world.worker(3);
    lose(2);
    world.pass(240'000);
    EXPECT_EQ(told("10"), 1U) << "what other workers count is added";
    std::set<std::string> lines;
    std::set<std::string> since;
    std::size_t count = 0;
    for (const std::string& line : world.lines()) {
        const std::size_t at = line.find(" since ");
        if (line.find("counters of ") != std::string::npos && at != std::string::npos) {
            ++count;
            lines.insert(line);
            since.insert(line.substr(at, line.find(": ", at) - at));
        }
    }
    EXPECT_EQ(lines.size(), count) << "no line twice, whichever worker looks";
    EXPECT_EQ(since.size(), 1U) << "all count since the zone was made";
}

/// Counters of a store that is away for one of the reloads go on, too.
TEST(CountersOfAZone, GoOnOverReloads) {
    Scenario world({"default", "1000r/365d"});
    world.setup.zone_size = Zone::default_size;
    const auto reload = [&world] {
        world.machine().configure(world.setup);
        world.reload();
        world.pass(10'000);
        EXPECT_EQ(world.end_leaving(), 0U);
    };
    const auto configure = [&](const std::vector<std::string>& names) {
        world.setup.stores.clear();
        world.setup.limits.clear();
        for (const std::string& name : names) {
            world.setup.stores.push_back(Scenario::store_at("10.0.0." + name + ":6379", 3'600'000, name));
            world.setup.limits.push_back({name, "1000r/365d"});
            world.setup.limits.back().store = name;
        }
    };
    Scripted first(world.events, world.network, "10.0.0.1:6379", refusing());
    Scripted second(world.events, world.network, "10.0.0.2:6379", refusing());
    Scripted third(world.events, world.network, "10.0.0.3:6379", refusing());
    std::set<std::string> since;
    const auto lose = [&](const std::string& store, std::size_t charges, const std::string& sum) {
        for (std::size_t i = 0; i < charges; ++i) {
            EXPECT_EQ(world.ask(RequestSetup("k").under({store})), "PASSED");
        }
        world.forget_lines();
        world.pass(120'000);
        const std::string line = "counters of \"" + store + "\" since (\\S+ \\S+): .*, " + sum +
                                 " dropped, .*: wrongtype " + sum + "$";
        EXPECT_EQ(world.logged(line), 1U) << line;
        for (const std::string& each : world.lines()) {
            std::smatch found;
            if (std::regex_search(each, found, std::regex(line))) {
                since.insert(found[1]);
            }
        }
    };
    configure({"1", "2"});
    world.worker(1);
    lose("1", 3, "3");
    lose("2", 4, "4");
    reload();
    lose("1", 1, "4");
    configure({"3", "2"});
    reload();
    lose("2", 1, "5");
    lose("3", 2, "2");
    configure({"2", "1"});
    reload();
    lose("1", 1, "5");
    EXPECT_EQ(since.size(), 1U);
}

/// More shards than the least zone has counters for: the others are counted together.
TEST(CountersOfAZone, LoseNothingWhereThereIsNoRoomForAllShards) {
    Scenario world({"default", "1000r/365d"}, 3'600'000);
    Scripted primary(world.events, world.network, Scenario::primary_address, refusing());
    world.setup.zone_size = Zone::least_size;
    std::vector<ShardSetup>& shards = world.setup.stores.front().shards;
    shards.clear();
    for (int i = 1; i <= 30; ++i) {
        shards.push_back({"s" + std::to_string(i), primary.address()});
    }
    // The last lines of the store, and of those without room, that have this in them.
    const auto sum = [&world](const std::string& of, const std::string& pattern) {
        std::string last;
        for (const std::string& line : world.lines()) {
            last = line.find("counters of \"" + of + "\" since ") != std::string::npos ? line : last;
        }
        const std::regex wanted(pattern);
        std::size_t all = 0;
        for (std::sregex_iterator each(last.begin(), last.end(), wanted); each != std::sregex_iterator();
             ++each) {
            all += std::stoul((*each)[1]);
        }
        return all;
    };
    const auto lose = [&world](const std::string& keys) {
        for (int i = 0; i < 200; ++i) {
            EXPECT_EQ(world.ask(keys + std::to_string(i)), "PASSED");
        }
        world.pass(120'000);
    };
    lose("k");
    const std::string dropped = "(\\d+) dropped";
    const std::size_t own = sum("main", dropped);
    EXPECT_GT(own, 0U);
    EXPECT_GT(sum("*", dropped), 0U);
    EXPECT_EQ(own + sum("*", dropped), 200U);
    EXPECT_GT(sum("main", "; primary [^;]*: wrongtype (\\d+)"), 0U);
    EXPECT_GT(sum("*", "; any node: wrongtype (\\d+)"), 0U);
    EXPECT_EQ(sum("main", "wrongtype (\\d+)") + sum("*", "wrongtype (\\d+)"), 200U);
    shards.insert(shards.begin(), {"s31", primary.address()});
    world.machine().configure(world.setup);
    world.reload();
    lose("l");
    EXPECT_GT(sum("main", dropped), own) << "though its first shard has no counters";
}

}  // namespace
}  // namespace rate_limit::world::counters_of_zone_test
