// The fate of requests and charges when a connection ends, or is left.

#include <string>

#include "t/limiter/checked.h"

namespace rate_limit::world::lost_connections_test {
namespace {

constexpr const char* read_only = "READONLY You can't write against a read only replica.";

/// A server that resets the connection at the next `cuts` commands about windows.
class ClosedJustThen : public testing::Test {
protected:
    ClosedJustThen() {
        world.setup.on_error = OnError::deny;
        world.setup.limits.push_back({"r", "1000r/h", "charge_refund"});
    }

    ScriptedReply answer(const Command& words, ScriptedClient& client) {
        if (words[0] != "hmget" && !is_write(words)) {
            return fallback(words);
        }
        if (cuts > 0) {
            --cuts;
            return client.reset();
        }
        return words[0] == "hmget"     ? hmget(7, reset)
               : words[0] == "hincrby" ? integer(8)
                                       : integers({1, 8, reset});
    }

    Scenario world{{"default", "1000r/h"}};
    const RequestSetup checked = RequestSetup("k").under({"default"});
    const RequestSetup reserved = RequestSetup("k").under({"r"});
    const Millis reset = world.at(1'800'000);
    int cuts = 0;
    Scripted redis{world.events, world.network, Scenario::primary_address,
                   [this](const Command& words, ScriptedClient& client) { return answer(words, client); }};
};

TEST_F(ClosedJustThen, AChecksIsAskedAgainAtOnce) {
    EXPECT_EQ(check(world, checked), "PASSED 7");
    for (int round = 0; round < 3; ++round) {
        world.pass(150);  // within 100 ms of each other losses are an outage
        const std::size_t before = redis.connections();
        cuts = 1;
        EXPECT_EQ(check(world, checked), "PASSED 7");
        EXPECT_EQ(redis.connections(), before + 1);
    }
    EXPECT_EQ(world.logged("is down|could not be checked"), 0);
}

TEST_F(ClosedJustThen, AReservationIsNotSentAgain) {
    EXPECT_EQ(world.ask(reserved), "PASSED");
    const std::size_t asked = redis.writes().size();
    world.pass(150);
    cuts = 1;
    EXPECT_EQ(world.ask(reserved), "ERROR_DENIED");
    EXPECT_EQ(redis.writes().size(), asked + 1);
    EXPECT_EQ(world.ask(reserved), "PASSED");
}

TEST_F(ClosedJustThen, TwiceInARowIsAnOutage) {
    EXPECT_EQ(check(world, checked), "PASSED 7");
    world.pass(150);
    cuts = 2;
    EXPECT_EQ(check(world, checked), "ERROR_DENIED 7");
    EXPECT_EQ(world.logged("primary .* is down: "), 1);
    EXPECT_TRUE(world.until([this] { return check(world, checked) == "PASSED 7"; }));
}

/// A primary that holds the answers to three charges, of which it refuses one, and a replica that answers all
/// checks.
class RefusedBeforeOthers : public testing::Test {
protected:
    RefusedBeforeOthers() {
        world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
        for (const char* name : {"a", "b", "c"}) {
            world.setup.limits.push_back({name, "1000r/h"});
        }
    }

    Scenario world{{"default", "1000r/h"}, 20'000};
    const RequestSetup three = RequestSetup("k").under({"a", "b", "c"});
    Scripted replica{world.events, world.network, Scenario::replica_address, reading({}, {})};
    Scripted primary{world.events, world.network, Scenario::primary_address};
};

TEST_F(RefusedBeforeOthers, TheConnectionIsLeftWhenAllIsAnswered) {
    primary.handler = taking(
        world.at(1'800'000), [](std::size_t nth, ScriptedClient&, const std::string& taken) -> ScriptedReply {
            return nth == 1 ? hold("first", error(read_only)) : nth <= 3 ? hold("rest", taken) : taken;
        });
    EXPECT_EQ(world.ask(three), "PASSED");
    world.pass(10);
    ASSERT_EQ(primary.writes().size(), 3U);
    primary.release("first");
    world.pass(1);
    EXPECT_EQ(world.logged("refuses charges: readonly"), 1);
    EXPECT_EQ(world.ask(RequestSetup("meanwhile").under({"default"})), "PASSED");
    world.pass(1'000);  // the first try is due after 100 ms at most
    EXPECT_EQ(primary.connections(), 1) << "it stays while answers are due";
    EXPECT_EQ(primary.writes().size(), 3U) << "nothing more is written on it";
    primary.release("rest");
    EXPECT_TRUE(world.until([this] { return primary.writes().size() == 5; }, 1'000));
    EXPECT_EQ(primary.connections(), 2);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("takes charges again"), 1);
    EXPECT_EQ(world.logged("doubt|dropped|does not serve|is down"), 0);
}

TEST_F(RefusedBeforeOthers, ALostConnectionIsReplacedThoughNoRequestNeedsIt) {
    primary.handler = taking(world.at(1'800'000),
                             [](std::size_t nth, ScriptedClient&, const std::string& taken) -> ScriptedReply {
                                 return nth == 2               ? hold("first", error(read_only))
                                        : nth == 3 || nth == 4 ? hold("never", taken)
                                                               : taken;
                             });
    EXPECT_EQ(world.ask(RequestSetup("before").under({"default"})), "PASSED");
    world.pass(10);
    EXPECT_EQ(world.ask(three), "PASSED");
    world.pass(10);
    ASSERT_EQ(primary.writes().size(), 4U);
    primary.release("first");
    world.pass(1'000);
    EXPECT_EQ(world.logged("refuses charges: readonly"), 1);
    primary.drop();
    EXPECT_TRUE(world.until([this] { return primary.writes().size() == 5; }, 5));
    world.pass(1'000);  // one of two is told at once
    EXPECT_EQ(world.logged("2 in doubt so far"), 1);
    EXPECT_EQ(world.logged("takes charges again"), 1);
    EXPECT_EQ(world.ask(RequestSetup("after").under({"default"})), "PASSED");
    world.pass(10);
    EXPECT_EQ(primary.writes().size(), 6U);
}

/// A primary, alone in its shard, that has refused a charge and holds what came behind it when its connection
/// is lost: a new connection is due, and no charge is under way whose end would ask for one.
class LeftAfterARefusal : public testing::Test {
protected:
    LeftAfterARefusal() {
        world.setup.on_error = OnError::deny;
        world.setup.limits.push_back({"r", "1000r/h", "charge_refund"});
    }

    /// The charge is refused, and `other` unanswered when the first try is due.
    void refuse_before(const RequestSetup& other) {
        primary.handler = [this](const Command& words, ScriptedClient&) -> ScriptedReply {
            if (!holds || (words[0] != "hmget" && !is_write(words))) {
                return answer(words);
            }
            return primary.writes().size() == 1 && is_write(words) ? hold("first", error(read_only))
                                                                   : hold("never", answer(words));
        };
        EXPECT_EQ(check(world, RequestSetup("before").under({"default"})), "PASSED 7");
        charged = &world.begin(RequestSetup("k").under({"default"}));
        EXPECT_TRUE(world.until([this] { return charged->is_decided(); }));
        holds = true;
        charged->end();
        EXPECT_TRUE(world.until([this] { return primary.writes().size() == 1; }));
        waiting = &world.begin(other);
        world.pass(5);
        primary.release("first");
        world.pass(1'000);
        EXPECT_EQ(world.logged("refuses charges: readonly"), 1);
        EXPECT_EQ(primary.connections(), 1);
        holds = false;
    }

    std::string answer(const Command& words) const {
        return words[0] == "hmget"     ? hmget(7, reset)
               : words[0] == "hincrby" ? integer(8)
               : is_write(words)       ? integers({1, 8, reset})
                                       : fallback(words);
    }

    Scenario world{{"default", "1000r/h"}, 20'000};
    const Millis reset = world.at(1'800'000);
    bool holds = false;
    ClientRequest* charged = nullptr;
    ClientRequest* waiting = nullptr;
    Scripted primary{world.events, world.network, Scenario::primary_address};
};

TEST_F(LeftAfterARefusal, ThePrimaryIsConnectedThoughNobodyAsksIt) {
    refuse_before(RequestSetup("other").under({"r"}));
    primary.drop();
    world.pass(5);
    EXPECT_EQ(outcome(*waiting), "ERROR_DENIED") << "a reservation is not sent again";
    EXPECT_EQ(primary.connections(), 2);
    EXPECT_EQ(world.logged("takes charges again"), 1);
    EXPECT_EQ(world.logged("is down"), 0);
}

TEST_F(LeftAfterARefusal, AChecksThatIsAskedAgainConnectsItOnce) {
    refuse_before(RequestSetup("other").under({"default"}));
    primary.drop();
    world.pass(5);
    EXPECT_EQ(outcome(*waiting), "PASSED");
    EXPECT_EQ(primary.connections(), 2);
    EXPECT_EQ(world.logged("takes charges again"), 1);
    EXPECT_EQ(world.logged("is down"), 0);
}

/// Requests go on by the replica. A short silence leaves no doubt; what is in doubt after a longer one has
/// arrived, and is executed when the primary goes on. Nothing is sent twice.
TEST(AFrozenPrimary, HasAllThatWasAdmittedWhenItGoesOn) {
    Scenario world({"default", "1000r/h"});
    StoreSetup& store = world.setup.stores.front();
    store.shards.front().replicas = {Scenario::replica_address};
    store.check_timeout = 1'500;
    store.connect_timeout = 3'000;
    store.charge_timeout = 7'000;
    world.setup.on_error = OnError::deny;
    Redis primary(world.events, world.network, Scenario::primary_address);
    Scripted replica(world.events, world.network, Scenario::replica_address, reading({}, {}));
    std::int64_t admitted = 0;
    const auto admit = [&] {
        EXPECT_EQ(world.admitted(40, "k"), 40U);
        admitted += 40;
    };
    const auto all_stored = [&] { return primary.used(stored_key("k")) == admitted; };
    admit();
    EXPECT_TRUE(world.until(all_stored));
    const std::string silences[] = {"does not serve: no answer in check_timeout", "are in doubt"};
    for (const std::string& line : silences) {
        primary.pause();
        admit();
        EXPECT_TRUE(world.until([&] { return world.logged(line) > 0; })) << line;
        admit();
        primary.resume();
        EXPECT_TRUE(world.until(all_stored)) << line;
        EXPECT_EQ(world.logged("are in doubt") > 0, line == silences[1]);
        world.forget_lines();
    }
    EXPECT_TRUE(world.stop_all());
    EXPECT_TRUE(all_stored());
}

/// A demoted primary answers READONLY to a reservation, and to the next one, of a window that is used up,
/// what needs no write. That is no proof that it takes writes: a new connection is made, which leads to the
/// new primary.
TEST(ADemotedPrimary, IsLeftThoughItAnswersWhatNeedsNoWrite) {
    Scenario world({"default", "3r/h", "charge_refund"}, 9'000);
    world.setup.on_error = OnError::deny;
    world.setup.stores.front().fresh = 0;
    Redis old(world.events, world.network, "10.0.0.8:6379");
    Redis next(world.events, world.network, "10.0.0.9:6379");
    Scripted both(world.events, world.network, Scenario::primary_address,
                  [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                      return client.relay(client.number() == 1 ? old : next, words);
                  });
    EXPECT_EQ(world.admitted(3, "used-up"), 3U);
    old.server().state.role = ServerRole::replica;
    both.forget();
    const ClientRequest& other = world.begin("other");
    const ClientRequest& used_up = world.begin("used-up");
    world.pass(10);
    EXPECT_EQ(outcome(other), "ERROR_DENIED");
    EXPECT_EQ(outcome(used_up), "REJECTED");
    EXPECT_EQ(both.commands("evalsha").size(), 2U) << "both were asked";
    EXPECT_TRUE(world.until([&world] { return world.ask("later") == "PASSED"; }));
    EXPECT_EQ(next.used(stored_key("later")), 1);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("doubt|does not serve|is down"), 0U);
}

/// A server that goes on answering that it cannot serve, to PING too, is left after some tries: its address
/// may lead to another one by now.
TEST(LastingRefusal, LetsTheNodeConnectAnew) {
    Scenario world({"default", "100r/h"});
    world.setup.on_error = OnError::deny;
    const auto serves = reading({}, {});
    bool down = false;
    Scripted old(world.events, world.network, Scenario::primary_address,
                 [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                     return down ? error("MASTERDOWN Link with MASTER is down") : serves(words, client);
                 });
    EXPECT_EQ(check(world, "k"), "PASSED 0");
    down = true;
    Scripted next(world.events, world.network, Scenario::primary_address, serves);
    EXPECT_EQ(check(world, "k"), "ERROR_DENIED");
    EXPECT_TRUE(world.until([&world] { return check(world, "k") == "PASSED 0"; }));
    EXPECT_EQ(next.connections(), 1);
    EXPECT_EQ(world.logged("does not serve: masterdown"), 1);
}

}  // namespace
}  // namespace rate_limit::world::lost_connections_test
