// Answers reach the commands that they are for, however they arrive; and what is no answer to any reaches
// none.

#include <string>
#include <vector>

#include "t/limiter/checked.h"

namespace rate_limit::world::answers_test {
namespace {

std::string kind_of(const Command& words) {
    return words[1].substr(words[1].rfind(':') + 1);
}

/// A server that tells of a key what the number at its end says.
Handler telling(Millis reset) {
    return [reset](const Command& words, ScriptedClient&) -> ScriptedReply {
        if (words[0] != "hmget") {
            return fallback(words);
        }
        return hmget(std::stoll(words[1].substr(words[1].rfind('-') + 1)), reset);
    };
}

/// Twelve limits, and a server that answers nothing before it has been asked about all of them.
class AnswersInOneRead : public testing::Test {
protected:
    static constexpr std::size_t count = 12;

    AnswersInOneRead() {
        world.setup.limits.clear();
        for (std::size_t i = 1; i <= count; ++i) {
            world.setup.limits.push_back({"limit-" + std::to_string(i), "1000r/h"});
        }
    }

    ScriptedReply answer(const Command& words) {
        if (words[0] != "hmget") {
            return fallback(words);
        }
        const std::string kind = kind_of(words);
        const std::int64_t limit = std::stoll(words[1].substr(words[1].find('-') + 1));
        const std::string push = kind == "pushed" ? ">2\r\n" + bulk("invalidate") + bulk("x") : "";
        held += push + (kind == "odd" && limit == 7 ? error("ERR not this one") : hmget(limit, reset));
        if (++asked % count != 0) {
            return "";
        }
        return std::exchange(held, {}) + (kind == "more" ? hmget(99, reset) : "");
    }

    Scenario world{LimitSetup{}};
    const Millis reset = world.at(1'800'000);
    std::string held;
    std::size_t asked = 0;
    Scripted redis{world.events, world.network, Scenario::primary_address,
                   [this](const Command& words, ScriptedClient&) { return answer(words); }};
};

TEST_F(AnswersInOneRead, GoToTheirOwnCommandsInOrder) {
    EXPECT_EQ(check(world, "first"), "PASSED 1 2 3 4 5 6 7 8 9 10 11 12");
    EXPECT_EQ(check(world, "pushed"), "PASSED 1 2 3 4 5 6 7 8 9 10 11 12");
    EXPECT_EQ(check(world, "odd"), "ERROR_ALLOWED 1 2 3 4 5 6 8 9 10 11 12");
    EXPECT_EQ(world.logged("is down"), 0);
    EXPECT_EQ(redis.connections(), 1);
}

TEST_F(AnswersInOneRead, AreTakenWithoutOneTooMany) {
    EXPECT_EQ(check(world, "more"), "PASSED 1 2 3 4 5 6 7 8 9 10 11 12");
    world.pass(200);
    EXPECT_EQ(check(world, "again"), "PASSED 1 2 3 4 5 6 7 8 9 10 11 12");
    EXPECT_EQ(redis.connections(), 2) << "the next command goes over another connection";
}

TEST_F(AnswersInOneRead, AreTakenWithoutOneTooManyAfterALossToo) {
    EXPECT_EQ(check(world, "first"), "PASSED 1 2 3 4 5 6 7 8 9 10 11 12");
    redis.handler = [](const Command&, ScriptedClient& client) { return client.reset(); };
    EXPECT_EQ(check(world, "lost"), "ERROR_ALLOWED");
    redis.handler = [this](const Command& words, ScriptedClient&) { return answer(words); };
    asked = 0;
    world.pass(500);
    EXPECT_EQ(check(world, "more"), "PASSED 1 2 3 4 5 6 7 8 9 10 11 12");
    world.pass(200);
    const std::size_t before = redis.connections();
    EXPECT_EQ(check(world, "again"), "PASSED 1 2 3 4 5 6 7 8 9 10 11 12");
    EXPECT_EQ(redis.connections(), before) << "it was made before that, and answers one too many no more";
}

/// A stray reply that arrives in two pieces never becomes the answer to another command, wherever it is cut.
TEST(StrayReply, IsNotTheNextCommandsWhereverItIsCut) {
    const Millis reset = Loop::usual_wall_clock + 1'800'000;
    const std::string stray = hmget(99, reset);
    for (std::size_t cut = 1; cut < stray.size(); ++cut) {
        Scenario world({"default", "50r/h"});
        Scripted redis(world.events, world.network, Scenario::primary_address,
                       [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                           if (words[0] != "hmget") {
                               return fallback(words);
                           }
                           return kind_of(words) == "first" ? hmget(1, reset) + stray.substr(0, cut)
                                                            : stray.substr(cut) + hmget(2, reset);
                       });
        EXPECT_EQ(check(world, "first"), "PASSED 1") << cut;
        const ClientRequest& victim = world.begin("victim");
        world.pass(5);
        EXPECT_EQ(shown(victim), "ERROR_ALLOWED") << "at once, " << cut;
        redis.handler = reading(2, reset);
        EXPECT_TRUE(world.until([&] { return check(world, "later") == "PASSED 2"; })) << cut;
    }
}

TEST(CutReplies, AreReadAtEachByte) {
    Scenario world({"default", "1000r/h"}, 1'000);
    const Millis reset = world.at(1'800'000);
    Scripted redis(world.events, world.network, Scenario::primary_address,
                   [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                       if (words[0] != "hmget") {
                           return fallback(words);
                       }
                       const std::string kind = kind_of(words);
                       const std::int64_t cut = std::stoll(kind.substr(kind.find('-') + 1));
                       const std::string whole = hmget(cut, reset);
                       client.send(whole.substr(0, static_cast<std::size_t>(cut)));
                       return later(3'000, whole.substr(static_cast<std::size_t>(cut)));
                   });
    for (std::size_t cut = 1; cut < hmget(10, reset).size(); ++cut) {
        EXPECT_EQ(check(world, "cut-" + std::to_string(cut)), "PASSED " + std::to_string(cut));
    }
    redis.piece = 1;
    EXPECT_EQ(check(world, "cut-5"), "PASSED 5");
    EXPECT_EQ(redis.connections(), 1);
}

TEST(LargeReplies, ThatAreNoWindowLeaveTheConnectionAsItIs) {
    Scenario world({"default", "1000r/h"}, 1'000);
    const Millis reset = world.at(1'800'000);
    const std::string large(100'000, 'x');
    const std::string odd[] = {bulk(large), error("ERR " + large), bulk(large.substr(0, 16'384)),
                               array(std::vector<std::string>(30'000, bulk("1")))};
    Scripted redis(world.events, world.network, Scenario::primary_address);
    for (const std::string& answer : odd) {
        redis.handler = [&answer](const Command& words, ScriptedClient&) -> ScriptedReply {
            return words[0] == "hmget" ? answer : fallback(words);
        };
        EXPECT_EQ(check(world, "odd"), "ERROR_ALLOWED");
        redis.handler = telling(reset);
        EXPECT_EQ(check(world, "after-21"), "PASSED 21") << "the connection goes on";
    }
    EXPECT_EQ(redis.connections(), 1);
}

/// Hundreds of replies that arrive at once.
TEST(ManyReplies, ReachTheirOwnRequests) {
    Scenario world({"default", "100000r/h"}, 60'000);
    const Millis reset = world.at(1'800'000);
    Scripted redis(world.events, world.network, Scenario::primary_address,
                   [answer = telling(reset)](const Command& words, ScriptedClient& client) {
                       ScriptedReply reply = answer(words, client);
                       return words[0] == "hmget" ? hold("gate", reply.bytes) : reply;
                   });
    std::vector<ClientRequest*> requests;
    for (int i = 1000; i < 1600; ++i) {
        requests.push_back(&world.begin("many-" + std::to_string(i)));
    }
    world.pass(10);
    ASSERT_EQ(redis.commands("hmget").size(), 600U);
    redis.release("gate");
    world.pass(1);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(shown_exempt(*requests[i]), "PASSED " + std::to_string(1000 + i));
    }
}

/// Answers that come after their checks have ended, or to clients that have gone.
TEST(LateAnswers, NeverReachOtherRequests) {
    Scenario world({"default", "5000r/h"});
    const Millis reset = world.at(1'800'000);
    bool slow = false;
    Scripted redis(world.events, world.network, Scenario::primary_address,
                   [&slow, answer = telling(reset)](const Command& words, ScriptedClient& client) {
                       ScriptedReply reply = answer(words, client);
                       return words[0] == "hmget" && slow ? hold("gate", reply.bytes) : reply;
                   });
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(check(world, "k-1000"), "PASSED 1000");
        slow = true;
        for (int i = 0; i < 20; ++i) {
            const std::string key = "late-" + std::to_string(2000 + 20 * round + i);
            const ClientRequest& late = world.begin(key);
            if (i % 2 == 0) {
                world.pass(1);
            }
            EXPECT_FALSE(late.is_decided());
        }
        world.pass(100);
        slow = false;
        redis.release("gate");
        EXPECT_TRUE(world.until([&] { return check(world, "k-1") == "PASSED 1"; }));
        for (int i = 3001; i <= 3100; ++i) {
            EXPECT_EQ(check(world, "k-" + std::to_string(i)), "PASSED " + std::to_string(i));
        }
    }
    EXPECT_EQ(redis.open(), 1) << "a check that timed out ends no connection that is answered";
}

TEST(AnswersToTheGone, NeverReachOtherRequests) {
    Scenario world({"default", "5000r/h"}, 60'000);
    Scripted redis(world.events, world.network, Scenario::primary_address,
                   [answer = telling(world.at(1'800'000))](const Command& words, ScriptedClient& client) {
                       ScriptedReply reply = answer(words, client);
                       return words[0] == "hmget" ? hold("gate", reply.bytes) : reply;
                   });
    for (int i = 0; i < 10; ++i) {
        ClientRequest& gone = world.begin("gone-" + std::to_string(i));
        world.pass(1);
        gone.abort();
    }
    std::vector<ClientRequest*> staying;
    for (int i = 4001; i <= 4010; ++i) {
        staying.push_back(&world.begin("stays-" + std::to_string(i)));
    }
    world.pass(10);
    redis.release("gate");
    world.pass(1);
    for (std::size_t i = 0; i < staying.size(); ++i) {
        EXPECT_EQ(shown_exempt(*staying[i]), "PASSED " + std::to_string(4001 + i));
    }
}

}  // namespace
}  // namespace rate_limit::world::answers_test
