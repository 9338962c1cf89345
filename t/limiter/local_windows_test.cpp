// Windows of the local store: when they end, and that what was charged in advance changes no later one.

#include <string>
#include <vector>

#include "t/limiter/scenario.h"

namespace rate_limit::world::local_windows_test {
namespace {

class LocalWindows : public testing::Test {
protected:
    ClientRequest& begin(const char* limit, std::int64_t cost = 1) {
        ClientRequest& request = world.begin(RequestSetup("k", cost).under({limit}));
        EXPECT_TRUE(request.is_decided());
        return request;
    }

    /// Whether it passes, and the used that it shows.
    std::string ask(const char* limit, bool exempt = false) {
        ClientRequest& request = begin(limit);
        request.is_admitted() ? request.end(exempt) : void();
        last_reset = request.applied(0).verdict.window.reset;
        return outcome(request) + " " + std::to_string(request.quota().used);
    }

    Scenario world{{"first", "2r/h", "check_charge", 0, "local"}};
    Millis last_reset = 0;
};

TEST_F(LocalWindows, EndAfterAPeriodOrWithThatOfTheClock) {
    const Millis hour = world.at() / 3'600'000 * 3'600'000;
    const Millis midnight = (hour / 86'400'000 + 1) * 86'400'000;
    world.setup.limits.push_back({"clock", "2r/h", "check_charge", 0, "local", lease_auto, "clock"});
    world.setup.limits.push_back({"day", "2r/d", "check_charge", 0, "local", lease_auto, "clock"});
    world.setup.limits.push_back({"refund", "2r/h", "charge_refund", 0, "local"});
    world.worker();
    world.pass(static_cast<Msec>(hour + 3'600'000 + 1'800'000 - world.at()));
    const Millis begun = world.at();
    for (const char* expected : {"PASSED 1", "PASSED 2", "REJECTED 2"}) {
        EXPECT_EQ(ask("clock"), expected);
        EXPECT_EQ(last_reset, hour + 7'200'000) << "until the hour ends";
        EXPECT_EQ(ask("first"), expected);
        EXPECT_EQ(last_reset, begun + 3'600'000) << "a period from the first";
    }
    EXPECT_EQ(ask("day"), "PASSED 1");
    EXPECT_EQ(last_reset, midnight);
    ClientRequest& slow = world.begin(RequestSetup("slow").under({"first"}));
    for (const char* limit : {"first", "refund"}) {
        ClientRequest& exempt = world.begin(RequestSetup("free").under({limit}));
        exempt.end(true);
        EXPECT_EQ(exempt.quota().used, 0);
    }
    world.pass(1'860'000);
    EXPECT_EQ(ask("clock"), "PASSED 1") << "the next hour";
    EXPECT_EQ(last_reset, hour + 10'800'000);
    EXPECT_EQ(ask("day"), "PASSED 2");
    EXPECT_EQ(ask("first"), "REJECTED 2") << "the period goes on";
    for (const char* limit : {"first", "refund"}) {
        ClientRequest& charged = world.begin(RequestSetup("free").under({limit}));
        EXPECT_EQ(charged.quota().used, 1);
        EXPECT_EQ(charged.applied(0).verdict.window.reset, world.at(3'600'000)) << "an exempt one opens none";
        charged.end();
    }
    world.pass(1'740'000);
    EXPECT_EQ(ask("first"), "PASSED 1");
    EXPECT_EQ(last_reset, world.at(3'600'000));
    EXPECT_EQ(world.ask(RequestSetup("slow").under({"first"})), "PASSED");
    slow.end();
    EXPECT_EQ(world.ask(RequestSetup("slow").under({"first"})), "REJECTED")
        << "a request is charged to the window that is open when it ends";
}

/// Neither by giving back nor by costing more.
TEST_F(LocalWindows, AreNotChangedByRequestsOfThoseBefore) {
    struct Case {
        std::int64_t costs;
        bool exempt;
        std::int64_t others;
    };
    for (const char* mode : {"charge_refund", "lease"}) {
        for (const Case& of : {Case{1, false, 4}, {15, false, 4}, {10, true, 4}, {2, false, 0}}) {
            Scenario world({"default", "20r/h", mode, 0, "local"});
            ClientRequest& request = world.begin({"k", 10});
            EXPECT_TRUE(request.is_admitted());
            EXPECT_EQ(request.quota().used, 10);
            world.pass(3'700'000);
            if (of.others != 0) {
                EXPECT_EQ(world.ask({"k", of.others}), "PASSED");
            }
            of.exempt ? request.end(true) : request.end_at_cost(of.costs);
            EXPECT_EQ(world.begin({"k", 0}).quota().used, of.others) << mode << ' ' << of.costs;
        }
    }
}

}  // namespace
}  // namespace rate_limit::world::local_windows_test
