// charge_refund: what goes back, and to which window; and what is charged where nothing could be reserved.

#include <string>
#include <vector>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::refunds_test {
namespace {

/// A refund to a bucket writes nothing where another type is in its place: a replica answers that, too.
TEST(RefundToABucketOfAnotherType, DoesNotProveThatAServerTakesWrites) {
    OneMachine world({"default", "10r/h", "charge_refund", 5});
    ClientRequest& first = world.begin("client");
    world.pass(10);
    ASSERT_TRUE(first.is_admitted());
    world.put_lists();
    world.primary.server().state.role = ServerRole::replica;
    ClientRequest& second = world.begin("client");
    world.pass(200);
    second.end();
    ASSERT_EQ(world.logged("refuses charges"), 1U);
    first.end(true);
    world.pass(30'000);
    EXPECT_EQ(world.logged("takes charges again"), 0U);
}

class Refunds : public testing::Test {
protected:
    Refunds() {
        EXPECT_EQ(world.ask("first", &world.worker(0, 0)), "PASSED");
        EXPECT_EQ(world.ask("first", &world.worker(0, 1)), "PASSED");
        world.let_connections_age();
    }

    ClientRequest& begin(std::int64_t cost, std::size_t machine = 0, const std::string& key = "k") {
        ClientRequest& request = world.begin({key, cost}, &world.worker(0, machine));
        world.pass(5);
        return request;
    }

    /// The end of the window that a request shows that is exempt.
    Millis exempt() {
        ClientRequest& request = begin(1);
        EXPECT_EQ(outcome(request), "PASSED");
        request.end(true);
        world.pass(5);
        return request.applied(0).verdict.window.reset;
    }

    Window stored() { return world.primary.window(key); }

    const std::string key = stored_key("k");
    OneMachine world{{"default", "100r/h", "charge_refund"}};
};

TEST_F(Refunds, InFullLeaveNoWindowBehind) {
    const Millis first = exempt();
    EXPECT_FALSE(world.has(key));
    world.pass(1'000);
    EXPECT_GT(exempt(), first + 1'000) << "the next one proposes a window of its own";
    EXPECT_FALSE(world.has(key));
    ClientRequest& paid = begin(1);
    EXPECT_EQ(paid.quota().used, 1);
    EXPECT_EQ(paid.quota().reset, reset_seconds(stored().reset));
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(exempt(), stored().reset) << "exempt ones come and go in it";
    }
    paid.end();
    EXPECT_EQ(begin(1).applied(0).verdict.window.reset, paid.applied(0).verdict.window.reset);
    EXPECT_EQ(stored().used, 2);
}

TEST(RefundsOfTwoLimits, LeaveNoWindowBehindWhereTheOtherRejects) {
    OneMachine world({"first", "9r/h", "charge_refund"});
    world.setup.limits.push_back({"second", "2r/h", "charge_refund"});
    world.put_window(stored_key("k", "3600", "second"), 2, world.at(1'800'000));
    EXPECT_EQ(world.ask("k"), "REJECTED");
    world.pass(5);
    EXPECT_NE(world.primary.server().changes(), 0U) << "the first had reserved";
    EXPECT_FALSE(world.has(stored_key("k", "3600", "first")));
}

/// Their refunds belong to the lost window.
TEST_F(Refunds, OfALostWindowTakeNothingFromTheNext) {
    EXPECT_EQ(world.admitted(1, "k"), 1U);
    std::vector<ClientRequest*> running{&begin(30), &begin(30)};
    world.remove(key);
    EXPECT_EQ(world.admitted(60, "k"), 60U);
    world.pass(5);
    EXPECT_EQ(stored().used, 60);
    for (ClientRequest* request : running) {
        request->end(true);
    }
    world.pass(5);
    EXPECT_EQ(world.admitted(60, "k"), 40U);
    world.pass(1'000);
    EXPECT_EQ(stored().used, 100);
}

/// Such a charge opens the window with an end, so that what others charge then is added to it.
TEST_F(Refunds, ThatDeleteAWindowLeaveWhatIsChargedLaterToTheNext) {
    ClientRequest& opens = begin(1, 1);
    ClientRequest& late = begin(0);
    EXPECT_EQ(stored().used, 1) << "a window is open as this machine knows";
    opens.end(true);
    world.pass(5);
    EXPECT_FALSE(world.has(key));
    ClientRequest& other = begin(0, 1);
    world.network.path(0, Scenario::primary_address).back = 3'000'000;
    late.end_at_cost(30);
    world.pass(5);
    EXPECT_EQ(stored().used, 30);
    EXPECT_NE(stored().reset, 0);
    other.end_at_cost(20);
    world.pass(5'000);
    EXPECT_EQ(stored().used, 50);
    world.network.path(0, Scenario::primary_address).back = 0;
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(stored().used, 50);
    EXPECT_EQ(world.logged("[^0] in doubt|[^0] dropped|lost"), 0U);
}

/// One machine increments it, so that its key is made anew; the other one's script opens the window.
TEST_F(Refunds, AndChargesOfADeletedWindowAreExact) {
    for (int round = 0; round < 40; ++round) {
        const std::string client = "k" + std::to_string(round);
        EXPECT_EQ(world.admitted(2, client), 2U);
        world.let_connections_age();
        world.remove(stored_key(client));
        world.network.path(1, Scenario::primary_address).there = round * 20;
        std::vector<ClientRequest*> all;
        for (std::size_t i = 0; i < 200; ++i) {
            all.push_back(&world.begin(client, &world.worker(i % 2, i / 2 % 2)));
            world.events.pass(i % 3 * 50);
        }
        world.pass(50);
        std::int64_t admitted = 0;
        for (ClientRequest* request : all) {
            admitted += request->is_admitted() ? 1 : 0;
            request->end();
        }
        world.pass(50);
        EXPECT_LE(admitted, 100);
        EXPECT_GE(admitted, 95);
        EXPECT_GE(world.primary.used(stored_key(client)), admitted);
    }
}

/// Why a request gets no answer before it ends: what the primary has of its window, and what that is later.
struct Late {
    const char* why;
    std::int64_t before;
    std::int64_t costs;
    void (*begins)(OneMachine& world);
    std::int64_t used;
};

class LateAnswers : public testing::TestWithParam<Late> {};

TEST_P(LateAnswers, LeaveTheChargeToTheEnd) {
    OneMachine world({"default", "10r/h", "charge_refund"}, 20'000);
    world.setup.stores.front().check_timeout = 150;
    if (GetParam().before != 0) {
        world.put_window(stored_key("k"), GetParam().before, world.at(1'800'000));
    }
    if (GetParam().begins != nullptr) {
        EXPECT_EQ(world.ask("other"), "PASSED");
        GetParam().begins(world);
    } else {
        world.primary.link().silent = true;
    }
    ClientRequest& request = world.begin({"k", 5});
    world.pass(200);
    EXPECT_EQ(outcome(request), "ERROR_ALLOWED");
    GetParam().costs == 5 ? request.end() : request.end_at_cost(GetParam().costs);
    world.primary.link().silent = world.primary.link().silent_there = world.primary.link().silent_back =
        false;
    world.pass(10'000);
    EXPECT_EQ(world.primary.used(stored_key("k")), GetParam().used);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.primary.used(stored_key("k")), GetParam().used);
    EXPECT_EQ(world.logged("[^0] dropped|[^0] in doubt|are lost"), 0U);
}

void keep_answers_back(OneMachine& world) {
    world.primary.link().silent_back = true;
}

void forget_scripts(OneMachine& world) {
    world.primary.link().silent_there = true;
    world.primary.server().forget_scripts();
}

INSTANTIATE_TEST_SUITE_P(Each, LateAnswers,
                         testing::Values(Late{"refused", 7, 5, keep_answers_back, 12},
                                         Late{"cheaper", 0, 1, keep_answers_back, 1},
                                         Late{"unknown_script", 0, 5, forget_scripts, 5},
                                         Late{"unsent", 0, 5, nullptr, 5}),
                         [](const auto& late) { return std::string(late.param.why); });

}  // namespace
}  // namespace rate_limit::world::refunds_test
