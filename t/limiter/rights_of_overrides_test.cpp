// The overrides that machines share are at a key, or need a command, that the module's user lacks: the log
// has one line for it.

#include <string>

#include "t/limiter/checked.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/scripted_cluster.h"

namespace rate_limit::world::rights_of_overrides_test {
namespace {

/// The user's patterns name all keys but that one. The overrides' line tells it, once each time.
TEST(AKeyThatOverridesLack, IsToldOnceEachTimeItIsForbidden) {
    const std::string good = array({bulk("version"), bulk("7")});
    const std::string garbage = array({bulk("version"), bulk("7"), bulk("default/:a"), bulk("garbage")});
    for (const char* refusal : key_refusals) {
        for (const std::string& all : {good, garbage, array({})}) {
            SCOPED_TRACE(refusal + (" " + all));
            Scenario world({"default", "1000r/h"});
            world.setup.stores.front().shares_overrides = true;
            bool forbidden = false;
            Scripted primary(world.events, world.network, Scenario::primary_address,
                             [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                                 const bool shared = words.size() > 1 && words[1] == "rl:!overrides";
                                 return shared && forbidden ? ScriptedReply(error(refusal))
                                        : !shared           ? serve(words, world.at(1'800'000))
                                        : words[0] == "hgetall"
                                            ? ScriptedReply(all)
                                            : array({all == array({}) ? nil() : bulk("7")});
                             });
            world.worker();
            for (std::size_t time = 1; time <= 3; ++time) {
                forbidden = false;
                world.pass(20'000);
                forbidden = true;
                world.pass(20'000);
                EXPECT_EQ(
                    world.logged("overrides at \"rl:!overrides\" .* are forbidden to the module's user: "
                                 ".*; give that user \\+hmget, \\+hgetall and that key"),
                    time);
            }
            EXPECT_EQ(world.ask("k"), "PASSED");
            EXPECT_EQ(world.logged("answered"), 0U) << "the overrides' line tells it";
        }
    }
}

/// The connections of two workers lead to two servers, and the user of one may not access the key.
TEST(AKeyThatOverridesLack, IsToldOnceWhereOneOfTwoServersForbidsIt) {
    Scenario world({"default", "1000r/h"});
    world.setup.stores.front().shares_overrides = true;
    std::size_t refused = 0;
    Scripted primary(
        world.events, world.network, Scenario::primary_address,
        [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
            if (words.size() < 2 || words[1] != "rl:!overrides") {
                return serve(words, world.at(1'800'000));
            }
            if (client.number() == 2) {
                ++refused;
                return error(key_refusals[0]);
            }
            return words[0] == "hgetall" ? array({bulk("version"), bulk("7")}) : array({bulk("7")});
        });
    world.worker(0);
    world.worker(1);
    world.pass(60'000);
    EXPECT_GE(refused, 10U);
    EXPECT_EQ(world.logged("are forbidden to the module's user"), 1U);
}

/// The whole cannot be read, and the version can: the line comes once all the same.
TEST(AKeyThatOverridesLack, IsToldOnceWhereItsVersionIsRead) {
    OneMachine world({"default", "1000r/h", "check_charge"});
    world.setup.stores.front().shares_overrides = true;
    Hash overrides;
    overrides.set("version", "7");
    world.primary.server().databases().front().make("rl:!overrides").content = overrides;
    world.primary.server().state.forbidden = {"hgetall"};
    world.worker();
    world.pass(60'000);
    EXPECT_EQ(world.logged("are forbidden to the module's user"), 1U);
}

}  // namespace
}  // namespace rate_limit::world::rights_of_overrides_test
