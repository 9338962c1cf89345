// Wrong contents of Redis are put right: a window without its end, or with an end that cannot be, blocks
// nobody, does not count on for ever, and what increments have left in it counts.

#include <string>
#include <utility>
#include <vector>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::spoilt_windows_test {
namespace {

constexpr Millis hour = 3'600'000;

class SpoiltWindows : public testing::Test {
protected:
    Keyspace& keys() { return world.primary.server().databases().front(); }

    /// Puts these fields in the place of the key's window, without an expiry.
    void put(const std::string& key, const std::vector<Hash::Field>& fields) {
        Hash window;
        for (const auto& [name, text] : fields) {
            window.set(name, text);
        }
        keys().make(stored_key(key)) = {window, never};
    }

    /// A request of the key: how it ends, and what is used then, as it is told.
    std::string ask(const std::string& key, std::size_t machine = 0) {
        ClientRequest& request = world.begin(key, &world.worker(0, machine));
        world.pass(5);
        until = request.quota().until;
        const std::string said = outcome(request) + " " + std::to_string(request.quota().used);
        request.is_admitted() ? request.end() : (void)0;
        world.pass(5);
        return said;
    }

    /// A period is left, or as much of it as of one that is opened now, and the key expires a second after.
    void expect_an_end(const std::string& key) {
        const Value* value = keys().find(stored_key(key));
        ASSERT_NE(value, nullptr);
        const Millis reset = world.primary.window(stored_key(key)).reset;
        EXPECT_NEAR(static_cast<double>(reset - world.at()), hour, 10'000) << key;
        EXPECT_NEAR(static_cast<double>(value->expires - reset), 1'000, 100) << key;
    }

    std::int64_t until = 0;  // in seconds, as it is told
    OneMachine world{{"default", "5r/h"}};
};

/// Counts the texts of scripts that a server is sent.
struct Texts final : CommandObserver {
    void on_command(Server& /*server*/, const ServerCommand& command, Words /*words*/) override {
        count += command.name == "eval" ? 1 : 0;
    }
    int count = 0;
};

TEST_F(SpoiltWindows, BlockNobodyAndDoNotCount) {
    const std::string ahead = std::to_string(world.at(1'800'000));
    std::vector<std::pair<std::string, std::vector<Hash::Field>>> cases = {
        {"far-ahead", {{"used", "5"}, {"reset", std::to_string(world.at(10 * hour))}}},
        {"beyond-int", {{"used", "5"}, {"reset", std::string(18, '9')}}},
        {"long-closed", {{"used", "5"}, {"reset", std::to_string(world.at(-10'000))}}},
        {"no-used", {{"reset", ahead}}}};
    for (const char* used : {"many", "-3", "1.5", ""}) {
        cases.push_back({std::string("used-") + used, {{"used", used}, {"reset", ahead}}});
    }
    for (const char* reset : {"soon", "-1", "1e12", ""}) {
        cases.push_back({std::string("reset-") + reset, {{"used", "5"}, {"reset", reset}}});
    }
    for (const auto& [key, fields] : cases) {
        put(key, fields);
        EXPECT_EQ(ask(key), "PASSED 1") << key;
        EXPECT_EQ(world.primary.used(stored_key(key)), 1) << key;
        if (key != "no-used") {
            expect_an_end(key);
        }
        EXPECT_EQ(ask(key), "PASSED 2") << key;
    }
    put("no-reset", {{"used", "2"}});
    EXPECT_EQ(ask("no-reset"), "PASSED 1");
    EXPECT_EQ(world.primary.used(stored_key("no-reset")), 3) << "the charge counts on from it";
    expect_an_end("no-reset");
    put("full", {{"used", "5"}, {"reset", ahead}});
    EXPECT_EQ(ask("full"), "REJECTED 5");
}

/// The text of a script that the server has forgotten is sent once.
TEST_F(SpoiltWindows, AreNoneAfterScriptsAreFlushed) {
    EXPECT_EQ(ask("first"), "PASSED 1");
    expect_an_end("first");
    Texts texts;
    world.primary.server().observe(&texts);
    world.primary.server().forget_scripts();
    EXPECT_EQ(ask("flushed"), "PASSED 1");
    expect_an_end("flushed");
    EXPECT_EQ(ask("flushed"), "PASSED 2");
    EXPECT_EQ(world.primary.used(stored_key("flushed")), 2);
    EXPECT_EQ(texts.count, 1);
    world.primary.server().observe(nullptr);
}

/// A window is deleted while a request runs, and the connection is lost between the increment that makes it
/// anew and its repair; or an operator has set a count by hand; or a clock was wrong.
TEST_F(SpoiltWindows, GetTheirEndBackWithTheNextCharge) {
    world.setup.limits.front().rate = "50r/h";
    Redis replica(world.events, world.network, Scenario::replica_address);
    world.primary.replicate_to(replica);
    world.setup.stores.front().shards.front().replicas = {replica.address()};
    world.setup.stores.front().fresh = 0;
    enum class Damage { cut_off, by_hand, wrong_clock };
    for (const auto& [damage, left] :
         {std::pair(Damage::cut_off, 1), std::pair(Damage::by_hand, 10), std::pair(Damage::wrong_clock, 0)}) {
        const std::string key = "k" + std::to_string(left);
        for (int i = 1; i <= 3; ++i) {
            EXPECT_EQ(ask(key), "PASSED " + std::to_string(i));
        }
        if (damage == Damage::cut_off) {
            world.let_connections_age();
            ClientRequest& request = world.begin(key);
            world.pass(5);
            keys().erase(stored_key(key));
            world.primary.link().back = 60'000'000;
            request.end();
            world.pass(5);
            EXPECT_EQ(world.primary.used(stored_key(key)), 1);
            world.primary.reset_connections();
            world.primary.link().back = 100;
            world.pass(5'000);
            EXPECT_EQ(world.logged("in doubt"), 1U);
            EXPECT_EQ(world.primary.window(stored_key(key)).reset, 0) << "a count without an end is left";
        } else if (damage == Damage::by_hand) {
            put(key, {{"used", "10"}});
        } else {
            put(key, {{"used", "10"}, {"reset", std::to_string(world.at(99'999'000))}});
        }
        replica.take_over(world.primary);
        EXPECT_EQ(ask(key).substr(0, 7), "PASSED ");
        EXPECT_EQ(world.primary.used(stored_key(key)), left + 1);
        expect_an_end(key);
        EXPECT_EQ(ask(key, 1), "PASSED " + std::to_string(left + 2)) << "another machine sees it";
        EXPECT_NEAR(static_cast<double>(until), 3'600, 10) << "with its end";
        EXPECT_EQ(world.primary.used(stored_key(key)), left + 2);
    }
}

}  // namespace
}  // namespace rate_limit::world::spoilt_windows_test
