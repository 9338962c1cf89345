// A window is used up, as far as a machine knows: requests are rejected by that, and the primary is asked now
// and then whether it is still so.

#include <string>

#include "t/limiter/checked.h"

namespace rate_limit::world::used_up_windows_test {
namespace {

TEST(UsedUpWindows, AreAskedAboutOnceASecondAtMost) {
    constexpr std::size_t keys = 17;
    Scenario world({"default", "150r/h"}, 9'000);
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    const Millis reset = world.at(1'800'000);
    const Handler handler = [&](const Command& words, ScriptedClient&) -> ScriptedReply {
        return words[0] == "hmget" ? hmget(150, reset) : fallback(words);
    };
    Scripted primary(world.events, world.network, Scenario::primary_address, handler);
    Scripted replica(world.events, world.network, Scenario::replica_address, handler);
    const Millis begun = world.at();
    for (std::size_t i = 0; i < 4'000; ++i) {
        ASSERT_EQ(world.ask("k" + std::to_string(i % keys), &world.worker(i % 3)), "REJECTED");
        world.pass(1);
    }
    const auto seconds = static_cast<std::size_t>((world.at() - begun) / 1000);
    EXPECT_GE(seconds, 4U);
    const std::size_t reads = primary.commands("hmget").size();
    EXPECT_GE(reads, keys * 2) << "by one worker for all of the machine";
    EXPECT_LE(reads, keys * (seconds + 1));
}

}  // namespace
}  // namespace rate_limit::world::used_up_windows_test
