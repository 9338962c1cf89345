// Workers that are killed lose no counts: the next line of counters tells them, once for all workers.

#include <set>
#include <string>

#include "t/limiter/scenario.h"

namespace rate_limit::world::counters_of_zone_test {
namespace {

TEST(CountersOfAZone, SurviveKilledWorkers) {
    Scenario world({"default", "1000r/365d"}, 3'600'000);
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     taking(world.at(1'800'000), [](std::size_t, ScriptedClient&, const std::string&) {
                         return ScriptedReply(error("WRONGTYPE wrong kind of value"));
                     }));
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

}  // namespace
}  // namespace rate_limit::world::counters_of_zone_test
