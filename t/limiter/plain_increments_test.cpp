// charge_refund: a window that is known to be open, with a twentieth of its limit left, is charged by a plain
// increment. The script decides about the others, and where the answer is above the limit: then it gives back
// first what the increment took.

#include <string>

#include "t/limiter/scenario.h"

namespace rate_limit::world::plain_increments_test {
namespace {

class PlainIncrements : public testing::Test {
protected:
    PlainIncrements() {
        EXPECT_EQ(world.ask("first"), "PASSED");
        world.let_connections_age();
        begin = world.at();
    }

    /// The outcome, the used that is shown, and what is sent: `+cost`, or how many arguments of a script,
    /// with what it gives back, and of a repair whether its end is the window's or later.
    std::string sends(std::int64_t cost, const std::string& key = "k") {
        primary.forget();
        ClientRequest& request = world.begin({key, cost});
        world.until([&] { return request.is_decided(); });
        std::string said = outcome(request) + " " + std::to_string(request.quota().used);
        if (request.is_admitted()) {
            request.end();
        }
        world.pass(5);
        for (const Command& words : primary.writes()) {
            said += ", " + sent(words);
        }
        return said;
    }

    std::int64_t used = 10;       // in the window, for the script
    std::int64_t count = 0;       // answers an increment
    bool repairs = true;          // else that script is refused
    bool grants = true;           // else the script does not
    bool forgets = false;         // the script is not known, which is told at `gate`
    Millis reset_in = 1'800'000;  // the window's end, from the begin of the world on

    Scenario world{{"default", "100r/h", "charge_refund"}};
    Millis begin = world.at();
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     [this](const Command& words, ScriptedClient&) { return answer(words); }};

private:
    std::string sent(const Command& words) const {
        if (words[0] == "hincrby") {
            return "+" + words[3];
        }
        std::string text = std::to_string(words.size() - 4);
        if (words.size() == 7) {
            return text + (std::stoll(words[5]) > begin + reset_in ? " later" : " known");
        }
        return words.size() > 11 ? text + " back " + words[11] +
                                       (std::stoll(words[12]) >= begin + reset_in ? " here" : " elsewhere")
                                 : text;
    }

    ScriptedReply answer(const Command& words) {
        if (words[0] == "hincrby") {
            return integer(count);
        }
        if (words[0] != "evalsha" && words[0] != "eval") {
            return fallback(words);
        }
        if (words[0] == "evalsha" && forgets) {
            return hold("gate", error("NOSCRIPT No matching script."));
        }
        if (words.size() == 7 && !repairs) {
            return error("ERR out of order");
        }
        if (words.size() == 6 || words.size() == 7) {
            return integers({5, begin + reset_in});
        }
        const std::int64_t granted = grants ? std::stoll(words[5]) : 0;
        return integers({granted, used + granted, begin + reset_in});
    }
};

TEST_F(PlainIncrements, ChargeAWindowThatIsKnown) {
    EXPECT_EQ(sends(5), "PASSED 15, 6") << "the script decides about one that is not";
    count = 20;
    EXPECT_EQ(sends(5), "PASSED 20, +5");
    EXPECT_EQ(sends(0), "PASSED 10, 6") << "a cost of nothing asks the script";
}

TEST_F(PlainIncrements, AreRepairedWhereTheyFindNoWindow) {
    sends(5);
    count = 5;
    EXPECT_EQ(sends(5), "PASSED 5, +5, 3 later");
    EXPECT_EQ(sends(5), "PASSED 15, 6") << "which may be empty again";
    repairs = false;
    EXPECT_EQ(sends(5), "PASSED 5, +5, 3 later");
    EXPECT_EQ(world.logged("answered repair\\.lua: \"ERR out of order\""), 1);
}

TEST_F(PlainIncrements, GoBackWhereTheyAreAboveTheLimit) {
    sends(5);
    count = 101;
    used = 96;
    EXPECT_EQ(sends(4), "PASSED 100, +4, 9 back 4 here");
}

/// A window that has opened meanwhile has nothing of it.
TEST_F(PlainIncrements, GoBackToTheSameWindowHoweverLateTheScriptIsSentAgain) {
    sends(5);
    count = 101;
    used = 96;
    forgets = true;
    primary.forget();
    ClientRequest& request = world.begin({"k", 4});
    world.pass(3'000);
    primary.release("gate");
    EXPECT_TRUE(world.until([&] { return primary.writes().size() == 3; }));
    ASSERT_EQ(primary.writes()[1].size(), 13U);
    ASSERT_EQ(primary.writes()[2].size(), 13U);
    EXPECT_EQ(primary.writes()[2][12], primary.writes()[1][12]);
    request.abort();
}

TEST_F(PlainIncrements, MayBeRefusedByTheScript) {
    used = 50;
    EXPECT_EQ(sends(1), "PASSED 51, 6");
    grants = false;
    used = 100;
    count = 103;
    EXPECT_EQ(sends(3), "REJECTED 100, +3, 9 back 3 here");
}

/// A refund may have deleted such a window.
TEST_F(PlainIncrements, WaitForASettledCharge) {
    ClientRequest& exempt = world.begin("k");
    world.pass(5);
    exempt.end(true);
    world.pass(5);
    EXPECT_EQ(primary.writes().back().size(), 9U) << "the refund";
    EXPECT_EQ(sends(1), "PASSED 11, 6");
    count = 12;
    EXPECT_EQ(sends(1), "PASSED 12, +1");
}

TEST_F(PlainIncrements, AreNotForTheLastTwentieth) {
    used = 95;
    EXPECT_EQ(sends(1), "PASSED 96, 6");
    EXPECT_EQ(sends(1), "PASSED 96, 6");
}

/// The cost of an increment could not go back after a late answer.
TEST_F(PlainIncrements, AreNotForAWindowThatEndsWithinChargeTimeout) {
    reset_in = 4'000;
    EXPECT_EQ(sends(1), "PASSED 11, 6");
    EXPECT_EQ(sends(1), "PASSED 11, 6");
}

/// A server that has just been connected to may not know what other nodes were told before.
TEST_F(PlainIncrements, AreNotForANewConnection) {
    sends(5);
    count = 20;
    EXPECT_EQ(sends(5), "PASSED 20, +5");
    primary.drop();
    world.pass(10);
    EXPECT_EQ(sends(5), "PASSED 15, 6");
    world.pass(1'400);
    EXPECT_EQ(sends(5), "PASSED 15, 6");
    world.pass(100);
    EXPECT_EQ(sends(5), "PASSED 20, +5");
}

}  // namespace
}  // namespace rate_limit::world::plain_increments_test
