// Each check has its own deadlines, to the millisecond, however near to other checks' it begins.

#include <string>
#include <vector>

#include "t/limiter/checked.h"

namespace rate_limit::world::check_deadlines_test {
namespace {

constexpr const char* other_address = "10.0.0.3:6379";

/// Shard a has a replica that falls silent, shard b a primary that does.
class CheckDeadlines : public testing::Test {
protected:
    CheckDeadlines() {
        StoreSetup& store = world.setup.stores.front();
        store.shards = {{"a", Scenario::primary_address, {Scenario::replica_address}}, {"b", other_address}};
        store.check_timeout = 1'500;
        store.connect_timeout = 5'000;
        store.charge_timeout = 2'500;
        for (int i = 1; i <= 40; ++i) {
            const std::string key = std::to_string(i);
            EXPECT_EQ(check(world, RequestSetup(key)), "PASSED " + key);
            (other.commands("hmget").empty() ? of_a : of_b).push_back(key);
            other.forget();
        }
        EXPECT_GE(of_a.size(), 8U);
        EXPECT_GE(of_b.size(), 1U);
        EXPECT_EQ(world.ask(RequestSetup(of_a[0])), "PASSED") << "its charge connects to the primary";
        world.pass(100);
        silent = true;
    }

    Handler node(bool falls_silent) {
        return [this, falls_silent](const Command& words, ScriptedClient&) -> ScriptedReply {
            if (words[0] != "hmget") {
                return is_write(words) ? integers({1, reset}) : fallback(words);
            }
            const std::string answer = hmget(std::stoll(words[1].substr(words[1].rfind(':') + 1)), reset);
            return falls_silent && silent ? hold("never", answer) : ScriptedReply(answer);
        };
    }

    Scenario world{{"default", "1000r/h"}};
    const Millis reset = world.at(1'800'000);
    bool silent = false;
    std::vector<std::string> of_a;
    std::vector<std::string> of_b;
    Scripted primary{world.events, world.network, Scenario::primary_address, node(false)};
    Scripted replica{world.events, world.network, Scenario::replica_address, node(true)};
    Scripted other{world.events, world.network, other_address, node(true)};
};

/// A check that nobody answers waits on beside others that are hedged.
TEST_F(CheckDeadlines, AreNotThoseOfOtherChecks) {
    const ClientRequest& mute = world.begin(of_b[0]);
    std::vector<ClientRequest*> asking;
    for (std::size_t i = 1; i <= 7; ++i) {
        world.pass(i == 1 ? 350 : 100);
        asking.push_back(&world.begin(of_a[i]));
    }
    world.pass(3'000);
    for (std::size_t i = 0; i < asking.size(); ++i) {
        EXPECT_EQ(shown_exempt(*asking[i]), "PASSED " + of_a[i + 1]) << "its own answer";
        EXPECT_EQ(asking[i]->waited(), 2U) << "the shortest wait for a hedge, and then the primary";
    }
    EXPECT_EQ(outcome(mute), "ERROR_ALLOWED");
    EXPECT_EQ(mute.waited(), 1'500U);
}

}  // namespace
}  // namespace rate_limit::world::check_deadlines_test
