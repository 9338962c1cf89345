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

/// A primary and a replica, which is asked each time as nothing else is remembered.
class UsedUpWindow : public testing::Test, private CommandObserver {
protected:
    UsedUpWindow() {
        world.setup.stores.front().fresh = 0;
        world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
        primary.replicate_to(replica);
        replica.server().observe(this);
        use_up("a");
    }

    std::string ask(const std::string& key) {
        ClientRequest& request = world.begin(key, &world.worker(turn_++ % 2));
        world.until([&] { return request.is_decided(); });
        return shown_exempt(request);
    }

    void use_up(const std::string& key) { EXPECT_EQ(world.admitted(4, key), 3U); }

    /// Nobody is asked about it for a minute, and then another key is used up.
    void forget() {
        world.pass(61'000);
        use_up("k" + std::to_string(turn_));
    }

    void stays_rejected(std::size_t asks) {
        asked_ = 0;
        for (int i = 0; i < 20; ++i) {
            EXPECT_EQ(ask("a"), "REJECTED 3");
        }
        EXPECT_EQ(asked_, asks);
    }

    Scenario world{{"default", "3r/d"}};
    Redis primary{world.events, world.network, Scenario::primary_address};
    Redis replica{world.events, world.network, Scenario::replica_address};

private:
    void on_command(Server& /*server*/, const ServerCommand& command, Words /*words*/) override {
        asked_ += command.name == "hmget" ? 1 : 0;
    }

    std::size_t turn_ = 0;
    std::size_t asked_ = 0;
};

TEST_F(UsedUpWindow, IsKnownForAMinuteAndThenAskedAboutOnce) {
    stays_rejected(0);
    forget();
    stays_rejected(1);
}

TEST_F(UsedUpWindow, IsRememberedWhereTheAnswerIsAnError) {
    forget();
    replica.server().databases().front().find(stored_key("a", "86400"))->content = List{"another's"};
    stays_rejected(1);
}

TEST_F(UsedUpWindow, IsRememberedWhereNobodyAnswers) {
    forget();
    primary.kill(true);
    replica.kill(true);
    stays_rejected(0);
    EXPECT_EQ(ask("unknown"), "ERROR_ALLOWED");
}

}  // namespace
}  // namespace rate_limit::world::used_up_windows_test
