// Many batches that were not answered: how many a worker keeps, in which order it asks for them again, and
// what it tells of those that it cannot ask for again.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "t/limiter/scenario.h"

namespace rate_limit::world::many_lost_batches_test {
namespace {

/// How often each key's batch was asked for.
std::map<std::string, std::size_t> asked(const Scripted& server) {
    std::map<std::string, std::size_t> times;
    for (const Command& words : server.commands("evalsha")) {
        times[words[3]] += is_batch(words) ? 1 : 0;
    }
    return times;
}

Handler holding_batches(Redis& redis, const bool& back) {
    return relaying(redis, [&back](const Command& words, ScriptedClient&, std::string answer) {
        return is_batch(words) && !back ? hold("gate", std::move(answer)) : ScriptedReply(std::move(answer));
    });
}

/// A worker looks at all of these in one turn.
TEST(ManyLostBatches, AreTenThousandAtMostForEachStore) {
    constexpr std::size_t at_most = 10'000;
    Scenario world({"default", "1000r/h", "lease", 0, "main", 10}, 300'000);
    world.setup.on_error = OnError::deny;
    world.setup.zone_size = std::size_t{100} << 20;
    Redis redis(world.events, world.network, "10.0.0.9:6379");
    Scripted primary(
        world.events, world.network, Scenario::primary_address,
        relaying(redis, [](const Command& words, ScriptedClient&, std::string answer) -> ScriptedReply {
            if (words[0] != "evalsha" || words[3].find(":lost") == std::string::npos) {
                return answer;
            }
            return words[5] == "0" ? ScriptedReply(error("ERR later")) : hold("gate", std::move(answer));
        }));
    const auto lose = [&](std::size_t from, std::size_t to) {
        EXPECT_TRUE(world.until([&] { return world.ask("answered" + std::to_string(from)) == "PASSED"; }));
        std::vector<const ClientRequest*> waiting;
        for (std::size_t i = from; i < to; ++i) {
            waiting.push_back(&world.begin("lost" + std::to_string(i)));
        }
        world.pass(5);
        primary.drop();
        world.pass(5);
        for (const ClientRequest* request : waiting) {
            EXPECT_EQ(outcome(*request), "ERROR_DENIED");
        }
    };
    lose(0, at_most);
    world.pass(1'000);
    EXPECT_EQ(world.logged("reservations for primary .* in doubt"), 0U);
    EXPECT_EQ(counted(world, Loss::reservations_in_doubt), 0U);
    lose(at_most, at_most + 3);
    world.pass(2'000);
    EXPECT_GE(world.logged("reservations for primary .* in doubt"), 1U);
    EXPECT_EQ(counted(world, Loss::reservations_in_doubt), 3U);
}

/// However many they are.
TEST(ManyLostBatches, OfAShardThatIsAwayKeepNoOthersFromBeingAskedForAgain) {
    Scenario world({"default", "1000r/h", "lease", 0, "main", 10}, 9'000);
    world.setup.on_error = OnError::deny;
    world.setup.stores.front().shards.push_back({"b", "10.0.0.2:6379"});
    Redis redis(world.events, world.network, "10.0.0.8:6379");
    Redis other(world.events, world.network, "10.0.0.9:6379");
    bool back = false;
    Scripted away(world.events, world.network, Scenario::primary_address, holding_batches(redis, back));
    Scripted stays(world.events, world.network, "10.0.0.2:6379", holding_batches(other, back));
    for (int i = 0; i < 300; ++i) {
        world.begin("k" + std::to_string(i));
    }
    world.pass(5);
    EXPECT_EQ(asked(away).size() + asked(stays).size(), 300U);
    EXPECT_GT(asked(away).size(), 2U * 64);
    back = true;
    away.stop();
    stays.drop();
    EXPECT_TRUE(world.until([&] {
        const auto times = asked(stays);
        return std::all_of(times.begin(), times.end(), [](const auto& key) { return key.second > 1; });
    }));
    away.start();
    EXPECT_TRUE(world.stop_all());
}

/// Those that were asked for again in vain for five minutes.
TEST(ManyLostBatches, InDoubtAreInTheLineOfCounters) {
    Scenario world({"default", "1000r/365d", "lease", 0, "main", 10}, 3'600'000);
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                         if (words[0] != "evalsha" || words.size() < 10) {
                             return is_write(words) ? integers({1, world.at(7'200'000)}) : fallback(words);
                         }
                         const std::int64_t want = std::stoll(words[5]);
                         return words[3].find("broken") != std::string::npos
                                    ? client.reset()
                                    : ScriptedReply(integers({want, want, world.at(7'200'000)}));
                     });
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(world.until([&] { return world.ask("sound" + std::to_string(i)) == "PASSED"; }));
        EXPECT_EQ(world.ask("broken" + std::to_string(i)), "ERROR_ALLOWED");
        world.pass(5);
    }
    world.pass(299'000);
    EXPECT_EQ(counted(world, Loss::reservations_in_doubt), 0U);
    world.pass(60'000);
    EXPECT_EQ(counted(world, Loss::reservations_in_doubt), 3U);
    EXPECT_GE(world.logged(
                  "reservations for primary .* they are in doubt, clients may have been charged for nothing"),
              1U);
    world.pass(120'000);
    EXPECT_GE(world.logged("counters of \"main\" since \\d{4}(/\\d\\d){2} \\d\\d(:\\d\\d){2}: .*; in doubt: "
                           "\\d+ refunds, 3 reservations"),
              1U);
}

}  // namespace
}  // namespace rate_limit::world::many_lost_batches_test
