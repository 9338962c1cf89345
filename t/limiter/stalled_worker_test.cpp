// A worker that was stopped for a while gives what it asked before time to be answered: its own stall is not
// Redis's.

#include <string>

#include "t/limiter/checked.h"

namespace rate_limit::world::stalled_worker_test {
namespace {

/// A primary that holds answers about keys that begin with `held` at its gate.
class StalledWorker : public testing::Test {
protected:
    StalledWorker() {
        world.setup.limits.push_back({"r", "1000r/h", "charge_refund"});
        world.setup.on_error = OnError::deny;
        set_timeouts(500);
    }

    void set_timeouts(Msec check_timeout) {
        world.setup.stores.front().check_timeout = check_timeout;
        world.setup.stores.front().connect_timeout = 2'000;
    }

    ScriptedReply answer(const Command& words) const {
        const std::string reply = words[0] == "hmget"     ? hmget(7, reset)
                                  : words[0] == "hincrby" ? integer(9)
                                  : is_write(words)       ? integers({1, 8, reset})
                                                          : fallback(words);
        const bool held = std::any_of(words.begin(), words.end(), [](const std::string& word) {
            return word.find(":held") != std::string::npos;
        });
        return held ? hold("gate", reply) : ScriptedReply(reply);
    }

    ClientRequest& begin(const std::string& key, const char* limit = "default") {
        return world.begin(RequestSetup(key).under({limit}));
    }

    /// It runs again when this returns.
    void stall(Msec time) {
        world.worker().loop().stall(static_cast<Micros>(time) * 1000);
        world.pass(time);
    }

    std::size_t blamed() const { return world.logged("does not serve|is down|could not be checked"); }

    Scenario world{{"default", "1000r/h"}};
    const Millis reset = world.at(1'800'000);
    Scripted redis{world.events, world.network, Scenario::primary_address,
                   [this](const Command& words, ScriptedClient&) { return answer(words); }};
};

/// The answer comes just after the worker goes on, each time that it stalls, and not only every second time.
TEST_F(StalledWorker, GivesTimeToWhatItAskedAfterEachStall) {
    EXPECT_EQ(check(world, RequestSetup("other").under({"default"})), "PASSED 7");
    for (const char* limit : {"default", "r"}) {
        for (int round = 0; round < 4; ++round) {
            ClientRequest& request = begin("held" + std::to_string(round), limit);
            world.pass(10);
            stall(700);
            world.pass(20);
            EXPECT_FALSE(request.is_decided()) << limit << ' ' << round;
            redis.release("gate");
            world.pass(1);
            EXPECT_EQ(outcome(request), "PASSED") << limit << ' ' << round;
            request.end(true);
            world.pass(200);
            redis.release("gate");
        }
    }
    EXPECT_EQ(blamed(), 0U);
}

/// That time does not end early because a new request asks Redis meanwhile.
TEST_F(StalledWorker, GivesThatTimeBesideNewRequests) {
    EXPECT_EQ(check(world, RequestSetup("other").under({"default"})), "PASSED 7");
    for (const char* limit : {"default", "r"}) {
        for (int round = 0; round < 4; ++round) {
            ClientRequest& request = begin("held" + std::to_string(round), limit);
            world.pass(10);
            stall(700);
            ClientRequest& fresh = begin("new" + std::to_string(round), limit);
            world.pass(20);
            redis.release("gate");
            world.pass(1);
            for (ClientRequest* each : {&request, &fresh}) {
                EXPECT_EQ(outcome(*each), "PASSED") << limit << ' ' << round;
                each->end(true);
            }
            world.pass(200);
            redis.release("gate");
        }
    }
    EXPECT_EQ(blamed(), 0U);
}

/// However long it was stopped, what was overdue waits no longer than check_timeout for answers.
TEST_F(StalledWorker, WaitsNoLongerThanCheckTimeoutForWhatIsOverdue) {
    set_timeouts(30);
    EXPECT_EQ(check(world, RequestSetup("other").under({"default"})), "PASSED 7");
    const ClientRequest& request = begin("held");
    world.pass(1);
    stall(300);
    world.pass(30);
    EXPECT_EQ(outcome(request), "ERROR_DENIED");
    EXPECT_LE(request.waited(), 331U);
    EXPECT_GE(request.waited(), 305U) << "it waits for a while";
}

/// A request that is new after a stall waits for check_timeout, and no longer, whatever was put off before
/// it.
TEST_F(StalledWorker, LetsNewRequestsWaitForCheckTimeout) {
    set_timeouts(100);
    EXPECT_EQ(check(world, RequestSetup("other").under({"default"})), "PASSED 7");
    begin("held-old");
    world.pass(1);
    stall(250);
    const ClientRequest& fresh = begin("held-new");
    world.pass(300);
    EXPECT_EQ(outcome(fresh), "ERROR_DENIED");
    EXPECT_LE(fresh.waited(), 100U);
}

}  // namespace
}  // namespace rate_limit::world::stalled_worker_test
