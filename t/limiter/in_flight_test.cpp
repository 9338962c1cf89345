// check_charge: requests that run count against the limit, so that slow clients pass exactly as many as it
// says. Whatever ends uncharged, and what only waits for its check, takes nothing.

#include <deque>
#include <string>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::in_flight_test {
namespace {

class InFlight : public testing::Test {
protected:
    InFlight() {
        world.setup.stores.push_back(Scenario::store_at("10.0.0.2:6379", 20'000, "silent"));
        world.setup.limits.push_back({"small", "1r/h"});
        world.setup.limits.push_back({"waits", "90r/h", "check_charge", 0, "silent"});
    }

    /// The used that the next request shows; it runs only for that long.
    std::int64_t next_used(bool exempt = false) {
        ClientRequest& request = world.begin(alone);
        world.pass(2);
        EXPECT_EQ(outcome(request), "PASSED");
        const std::int64_t used = request.quota().used;
        request.end(exempt);
        world.pass(2);
        return used;
    }

    std::int64_t stored() { return world.primary.used(stored_key("k")); }

    const RequestSetup alone = RequestSetup("k").under({"default"});
    OneMachine world{{"default", "50r/h"}};
    Scripted silent{world.events, world.network, "10.0.0.2:6379", holding_reads()};
};

TEST_F(InFlight, RequestsOfFourWorkersAreNoMoreThanTheLimit) {
    world.worker(3);
    std::deque<ClientRequest*> running;
    int passed = 0;
    for (std::size_t i = 0; i < 300; ++i) {
        running.push_back(&world.begin(alone, &world.worker(i % 4)));
        world.pass(1);
        if (running.size() == 24) {
            ClientRequest& oldest = *running.front();
            running.pop_front();
            if (oldest.is_admitted()) {
                EXPECT_LE(oldest.quota().used, 50);
                ++passed;
                oldest.end();
            } else {
                EXPECT_EQ(outcome(oldest), "REJECTED");
            }
        }
    }
    for (ClientRequest* request : running) {
        EXPECT_EQ(outcome(*request), "REJECTED");
    }
    EXPECT_EQ(passed, 50);
    world.pass(1'000);
    EXPECT_EQ(stored(), 50);
}

TEST_F(InFlight, RequestsAreUsedUntilTheyEndUncharged) {
    std::deque<ClientRequest*> running;
    for (int i = 0; i < 12; ++i) {
        running.push_back(&world.begin(alone));
        world.pass(2);
    }
    EXPECT_EQ(next_used(), 13);
    for (ClientRequest* request : running) {
        request->end();
    }
    world.pass(10);
    EXPECT_EQ(stored(), 13);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(next_used(true), 14) << "one that is exempt";
    }
    EXPECT_EQ(world.ask(RequestSetup("other").under({"small"})), "PASSED");
    EXPECT_EQ(world.ask(RequestSetup("k").under({"small"})), "PASSED");
    world.pass(10);
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(world.ask(RequestSetup("k").under({"default", "small"})), "REJECTED");
    }
    EXPECT_EQ(next_used(), 14);
    EXPECT_EQ(stored(), 14);
}

TEST_F(InFlight, RequestsThatWaitForAnotherCheckAreNot) {
    std::deque<ClientRequest*> waiting;
    for (int i = 0; i < 50; ++i) {
        waiting.push_back(&world.begin(RequestSetup("k").under({"default", "waits"})));
    }
    world.pass(5);
    EXPECT_EQ(silent.commands("hmget").size(), 50U);
    EXPECT_EQ(next_used(), 1);
    for (int i = 0; i < 25; ++i) {
        waiting.front()->abort();
        waiting.pop_front();
    }
    EXPECT_EQ(next_used(), 2) << "nor are those of them that leave";
    EXPECT_EQ(stored(), 2);
    silent.release("gate");
    world.pass(2);
    for (ClientRequest* request : waiting) {
        EXPECT_EQ(outcome(*request), "PASSED");
        request->end();
    }
    world.pass(10);
    EXPECT_EQ(stored(), 27);
}

}  // namespace
}  // namespace rate_limit::world::in_flight_test
