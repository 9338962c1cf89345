// Overrides that machines share, as a worker takes them up.

#include <string>

#include "core/overrides/shared_text.h"
#include "t/limiter/one_machine.h"

namespace rate_limit::world {
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

}  // namespace
}  // namespace rate_limit::world
