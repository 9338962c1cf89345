// Overrides that machines share, as a worker takes them up.

#include <algorithm>
#include <string>
#include <vector>

#include "core/overrides/shared_text.h"
#include "t/limiter/one_machine.h"

namespace rate_limit::world::shared_overrides_test {
namespace {

/// Where there is no master process, a reload can take http from a worker while it waits for an answer.
TEST(SharedOverrides, AreForNobodyWhereThereIsNoConfigurationAnyMore) {
    OneMachine world({"default", "5r/m"});
    world.setup.stores.front().shares_overrides = true;
    Hash shared;
    shared.set("version", "7");
    shared.set("text", write_shared_text({}));
    world.primary.server().databases().front().make("rl:!overrides").content = shared;
    Loop& loop = world.worker().loop();
    world.pass(5'000);
    world.primary.link().back = 50'000;  // answers are on their way for so long
    shared.set("version", "8");
    world.primary.server().databases().front().find("rl:!overrides")->content = shared;
    const std::uint64_t commands = world.primary.server().commands();
    while (world.primary.server().commands() == commands) {
        world.pass(1);
    }
    const Configuration* const configuration = std::exchange(loop.configuration, nullptr);
    world.pass(5'000);
    loop.configuration = configuration;
    EXPECT_TRUE(world.admits("client", 1'500));
}

/// Redis is asked for their version alone, once a second; for the text only where the version is another one,
/// and once for all workers of a machine.
TEST(SharedOverrides, AreReadOnceForEachVersion) {
    Scenario world({"default", "1000r/h"}, 9'000);
    world.setup.stores.front().shares_overrides = true;
    std::string version = "5";
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         if (words[0] != "hmget") {
                             return fallback(words);
                         }
                         std::vector<std::string> fields{bulk(version)};
                         if (words.size() > 3) {
                             fields.push_back(bulk("overrides 1\n"));
                         }
                         return array(fields);
                     });
    const auto asked = [&](std::size_t words) {
        const auto reads = primary.commands("hmget");
        return std::count_if(reads.begin(), reads.end(), [words](const Command& read) {
            return read[1] == "rl:!overrides" && read.size() == words;
        });
    };
    world.worker(1);
    world.pass(4'500);
    EXPECT_GE(asked(3), 3);
    EXPECT_LE(asked(3), 6) << "once a second, by one of the workers, and by each at its start";
    EXPECT_EQ(asked(4), 1);
    version = "6";
    world.pass(4'500);
    EXPECT_GE(asked(3), 7);
    EXPECT_EQ(asked(4), 2);
}

}  // namespace
}  // namespace rate_limit::world::shared_overrides_test
