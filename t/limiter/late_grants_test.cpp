// A reservation whose request is gone when it is granted is given back; one whose request went on without it
// is its charge. Nothing is reserved or charged twice. One that was sent and not answered is in doubt.

#include <map>
#include <string>
#include <vector>

#include "t/limiter/scenario.h"

namespace rate_limit::world::late_grants_test {
namespace {

class LateGrants : public testing::Test {
protected:
    LateGrants() {
        world.setup.stores.push_back(Scenario::store_at("10.0.0.3:6379", 20'000, "other"));
        world.setup.limits.push_back({"at-once", "10r/h", "charge_refund", 0, "other"});
    }

    /// `check_timeout` of the store `main`.
    void hurry(Msec check_timeout) { world.setup.stores.front().check_timeout = check_timeout; }

    ClientRequest& ask(const std::vector<std::string>& limits = {"default"},
                       OnError decides = OnError::allow) {
        ClientRequest& request = world.begin(RequestSetup("k", 3).under(limits).or_else(decides));
        EXPECT_TRUE(world.until([&] { return !calls(primary, 10).empty(); }, 100));
        return request;
    }

    /// Calls of a script by how many words it has: 10 reserve.lua, 8 charge.lua, 9 refund.lua.
    static std::vector<Command> calls(const Scripted& server, std::size_t words) {
        std::vector<Command> found;
        for (const Command& command : server.writes()) {
            if (command.size() == words) {
                found.push_back(command);
            }
        }
        return found;
    }

    /// The sum that reservations, charges and refunds add to the window, after all that may still come.
    std::int64_t net(const Scripted& server) {
        world.pass(60'000);
        std::int64_t sum = 0;
        for (const Command& words : server.writes()) {
            sum += words.size() == 10 ? 3 : words.size() == 9 ? -std::stoll(words[4]) : std::stoll(words[4]);
        }
        EXPECT_EQ(calls(server, 10).size(), 1U) << "it is reserved once";
        return sum;
    }

    /// One refund: of all of it, to its window.
    void expect_given_back(const Scripted& server) {
        EXPECT_EQ(net(server), 0);
        ASSERT_EQ(calls(server, 9).size(), 1U);
        EXPECT_EQ(calls(server, 9).front()[5], std::to_string(reset));
    }

    Scenario world{{"default", "10r/h", "charge_refund"}, 20'000};
    Millis reset = world.at(1'800'123);
    bool held = true;   // grants of the first server wait
    bool mute = false;  // the second one does not greet
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     [this](const Command& words, ScriptedClient&) { return answer(words, held, false); }};
    Scripted other{world.events, world.network, "10.0.0.3:6379",
                   [this](const Command& words, ScriptedClient&) { return answer(words, false, mute); }};

private:
    ScriptedReply answer(const Command& words, bool holds, bool silent) const {
        if (!is_write(words)) {
            return silent ? hold("gate", fallback(words)) : ScriptedReply(fallback(words));
        }
        if (words.size() != 10) {
            return integers({1, reset});
        }
        const std::int64_t want = std::stoll(words[5]);
        std::string grant = integers({want, want + 2, reset});
        return holds ? hold("gate", std::move(grant)) : ScriptedReply(std::move(grant));
    }
};

TEST_F(LateGrants, GoBackWhereTheClientHasLeft) {
    ClientRequest& request = ask();
    world.pass(100);
    request.abort();
    world.pass(100);
    EXPECT_TRUE(calls(primary, 9).empty()) << "nothing is granted yet";
    primary.release("gate");
    expect_given_back(primary);
}

TEST_F(LateGrants, GoBackOfAllLimitsWhereTheClientHasLeft) {
    ClientRequest& request = ask({"at-once", "default"});
    ASSERT_TRUE(world.until([&] { return !calls(other, 10).empty(); }, 100));
    world.pass(100);
    request.abort();
    world.pass(100);
    primary.release("gate");
    expect_given_back(other);
    expect_given_back(primary);
}

TEST_F(LateGrants, AreTheChargeOfWhoPassedWithoutThem) {
    hurry(200);
    ClientRequest& request = ask();
    world.pass(300);
    EXPECT_EQ(outcome(request), "ERROR_ALLOWED");
    EXPECT_EQ(request.waited(), 200U);
    request.end();
    world.pass(300);
    primary.release("gate");
    EXPECT_EQ(net(primary), 3);
    EXPECT_EQ(primary.writes().size(), 1U);
}

TEST_F(LateGrants, AreTheChargeOfWhoStillRunsWithoutThem) {
    hurry(200);
    ClientRequest& request = ask();
    world.pass(300);
    primary.release("gate");
    world.pass(300);
    request.end();
    EXPECT_EQ(net(primary), 3);
    EXPECT_EQ(primary.writes().size(), 1U);
}

TEST_F(LateGrants, GoBackWhereTheResponseIsExempt) {
    hurry(200);
    ClientRequest& request = ask();
    world.pass(300);
    request.end(true);
    primary.release("gate");
    expect_given_back(primary);
}

TEST_F(LateGrants, GoBackWhereTheRequestIsDenied) {
    hurry(200);
    const ClientRequest& request = ask({"default"}, OnError::deny);
    world.pass(300);
    EXPECT_EQ(outcome(request), "ERROR_DENIED");
    primary.release("gate");
    expect_given_back(primary);
}

TEST_F(LateGrants, AreNotAwaitedOfAPrimaryThatDoesNotGreet) {
    world.setup.stores.back().check_timeout = 200;
    mute = true;
    EXPECT_EQ(world.ask(RequestSetup("k", 3).under({"at-once"})), "ERROR_ALLOWED");
    mute = false;
    other.release("gate");
    world.pass(60'000);
    EXPECT_EQ(other.charged(),
              (std::map<std::string, std::int64_t>{{stored_key("k", "3600", "at-once"), 3}}));
}

class LostGrants : public LateGrants, public testing::WithParamInterface<OnError> {};

TEST_P(LostGrants, AreInDoubtAndNotChargedAgain) {
    ClientRequest& request = ask({"default"}, GetParam());
    primary.drop();
    world.pass(100);
    EXPECT_EQ(outcome(request), GetParam() == OnError::allow ? "ERROR_ALLOWED" : "ERROR_DENIED");
    if (request.is_admitted()) {
        request.end();
    }
    EXPECT_EQ(net(primary), 3);
    EXPECT_EQ(primary.writes().size(), 1U);
    EXPECT_EQ(
        world.logged(
            "1 reservations for primary .* they are in doubt, clients may have been charged for nothing"),
        1);
    EXPECT_EQ(counted(world, Loss::reservations_in_doubt), 1);
    held = false;
    EXPECT_EQ(world.ask({"next", 3}), "PASSED");
}

INSTANTIATE_TEST_SUITE_P(Each, LostGrants, testing::Values(OnError::allow, OnError::deny));

}  // namespace
}  // namespace rate_limit::world::late_grants_test
