// An answer that a primary has just given to a charge stands for a check, while a twentieth of the limit is
// left and for the time of `fresh`: requests ask no replica meanwhile.

#include <string>
#include <vector>

#include "t/limiter/calls.h"
#include "t/limiter/one_machine.h"

namespace rate_limit::world::fresh_answers_test {
namespace {

class FreshAnswers : public testing::Test {
protected:
    explicit FreshAnswers(const std::string& rate = "5000r/h") : world({"default", rate}) {
        world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
        world.primary.replicate_to(replica);
    }

    /// How many checks the replica gets of so many requests.
    std::size_t checks(std::size_t count, const RequestSetup& what = "k", Msec pause = 5) {
        const std::size_t before = calls["hmget"];
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(world.ask(what), "PASSED");
            world.pass(pause);
        }
        return calls["hmget"] - before;
    }

    OneMachine world;
    Redis replica{world.events, world.network, Scenario::replica_address};
    Calls calls{replica};
};

class FreshAnswersOfAHundred : public FreshAnswers {
protected:
    FreshAnswersOfAHundred() : FreshAnswers("100r/h") {}
};

TEST_F(FreshAnswersOfAHundred, StandForChecksWhileATwentiethIsLeft) {
    EXPECT_EQ(checks(1), 1U) << "nothing is known";
    EXPECT_LE(checks(95), 10U);
    EXPECT_EQ(checks(4), 4U);
    EXPECT_EQ(world.ask("k"), "REJECTED");
}

TEST_F(FreshAnswers, LeaveHardlyAnyCheckAtTenRequestsASecond) {
    EXPECT_LE(checks(100, "k", 100), 5U);
}

/// A store for each time of `fresh`, over the same servers.
class FreshAnswersOfStores : public FreshAnswers {
protected:
    FreshAnswersOfStores() {
        for (const auto& [name, fresh] : {std::pair{"long", 3'600'000}, {"off", 0}}) {
            world.setup.stores.push_back(world.setup.stores.front());
            world.setup.stores.back().name = name;
            world.setup.stores.back().fresh = fresh;
            world.setup.limits.push_back({name, "5000r/d", "check_charge", 0, name});
        }
        world.setup.limits.push_back({"minute", "5000r/m"});
    }

    static RequestSetup of(const char* limit) { return RequestSetup("k").under({limit}); }
};

TEST_F(FreshAnswersOfStores, LapseWhenThePrimarySaysNoMore) {
    for (const char* limit : {"default", "minute", "long", "off"}) {
        checks(3, of(limit));
    }
    EXPECT_EQ(checks(5, of("default")), 0U);
    EXPECT_EQ(checks(5, of("long")), 0U);
    EXPECT_EQ(checks(5, of("off")), 5U);
    world.primary.pause();
    world.pass(55);
    EXPECT_EQ(checks(1, of("minute"), 0), 1U) << "those of a minute after 60 ms";
    EXPECT_EQ(checks(1, of("default"), 0), 0U);
    world.pass(1'000);
    EXPECT_EQ(checks(5, of("default")), 5U) << "those of an hour after a second";
    EXPECT_EQ(checks(5, of("minute")), 5U);
    EXPECT_EQ(checks(5, of("long")), 0U);
    world.primary.resume();
    EXPECT_TRUE(world.until([this] { return checks(1, of("default")) == 0; }));
}

TEST_F(FreshAnswersOfStores, AreOfEachLimitByItself) {
    world.setup.limits.back() = {"few", "50r/h", "check_charge", 0, "off"};
    const RequestSetup both = RequestSetup("k").under({"default", "few"});
    EXPECT_LE(checks(3, both), 4U);
    EXPECT_EQ(checks(10, both), 10U) << "the limit that has to be checked";
    EXPECT_EQ(world.admitted(50, both), 37U);
    world.pass(10);
    for (const char* limit : {"default", "few"}) {
        EXPECT_EQ(world.primary.used(stored_key("k", "3600", limit)), 50) << "none is charged alone";
    }
}

/// A window that is deleted gets its end back; one that another machine has opened anew since is found.
TEST_F(FreshAnswers, AreNotBelievedLongOfAWindowThatIsGone) {
    const std::string key = stored_key("k");
    checks(3);
    world.remove(key);
    checks(1);
    world.pass(20);
    EXPECT_GT(world.primary.window(key).reset, world.at(3'000'000));
    EXPECT_GT(world.primary.server().databases().front().find(key)->expires, world.at(3'000'000));
    checks(3);
    const Millis reset = world.at(3'650'000) / 1'000 * 1'000;
    world.put_window(key, 50, reset);
    int requests = 0;
    EXPECT_TRUE(world.until([&] {
        ++requests;
        ClientRequest& request = world.begin("k");
        world.pass(2);
        request.end();
        return request.quota().reset == reset / 1'000 && request.quota().used > 50;
    }));
    EXPECT_LE(requests, 300);
}

}  // namespace
}  // namespace rate_limit::world::fresh_answers_test
