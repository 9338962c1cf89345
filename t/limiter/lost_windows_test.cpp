// A window that its server has lost, and that a machine whose clock is behind has opened anew, ends earlier
// than the one that another machine remembers: that machine takes the server's word.

#include <string>
#include <vector>

#include "t/limiter/scenario.h"

namespace rate_limit::world::lost_windows_test {
namespace {

class LostWindows : public testing::Test {
protected:
    explicit LostWindows(const std::string& mode, const std::string& rate = "100r/h")
        : world({"default", rate, mode}) {}

    /// The first machine has charged a window to which nothing can be given back any more; the server has
    /// lost it, and the second machine has opened it anew and charged `cost`.
    void lose_and_open_anew(std::int64_t cost) {
        world.machine(1).clock().ahead = -2'000'000;
        ASSERT_EQ(world.admitted(3, "k"), 3U);
        world.pass(10);
        lost = shown(world.begin("k"));
        world.pass(10);
        redis.lose_data(nullptr);
        world.pass(100);
        ASSERT_EQ(world.ask({"k", cost}, &world.worker(0, 1)), "PASSED");
        world.pass(10);
        ASSERT_GE(redis.used(key), cost);  // a lease takes more
        open = shown(world.begin("k", &world.worker(0, 1)));
        world.pass(10);
        ASSERT_LT(open, lost);
    }

    /// The end of the window that the client is told.
    Millis shown(ClientRequest& request) {
        EXPECT_TRUE(world.until([&] { return request.is_decided(); }));
        const Millis reset = request.applied(0).verdict.window.reset;
        if (request.is_admitted()) {
            request.end();
        }
        return reset;
    }

    const std::string key = stored_key("k");
    Scenario world;
    Redis redis{world.events, world.network, Scenario::primary_address};
    Millis lost = 0;
    Millis open = 0;
};

class LostWindowsThatAreFull : public LostWindows {
protected:
    LostWindowsThatAreFull() : LostWindows("charge_refund") {}
};

/// Its plain increment finds the window full, and goes back to that one, not to the lost one.
TEST_F(LostWindowsThatAreFull, RefuseAtNoCost) {
    lose_and_open_anew(99);
    ASSERT_EQ(redis.used(key), 100);
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(world.ask("k"), "REJECTED");
        world.pass(i % 10 == 9 ? 11'000 : 1);  // now and then it is time to ask again
    }
    EXPECT_EQ(redis.used(key), 100);
    EXPECT_EQ(shown(world.begin("k")), open);
}

struct Counted {
    const char* mode;
    bool replica;  // reads go there
};

class LostWindowsOfModes : public LostWindows, public testing::WithParamInterface<Counted> {
protected:
    LostWindowsOfModes() : LostWindows(GetParam().mode, "100000r/h") {
        if (GetParam().replica) {
            world.setup.stores.front().shards.front().replicas = {replica.address()};
            redis.replicate_to(replica);
        }
    }

    Redis replica{world.events, world.network, Scenario::replica_address};
};

/// Requests overlap: of each answer another one's charge is on its way.
TEST_P(LostWindowsOfModes, AreForgotten) {
    lose_and_open_anew(10);
    const auto shows_open = [&] {
        ClientRequest& one = world.begin("k");
        ClientRequest& other = world.begin("k");
        world.pass(1);
        const bool told = shown(one) == open;
        one.end();
        world.begin("k").end();
        return shown(other) == open && told;
    };
    EXPECT_TRUE(world.until(shows_open));
}

INSTANTIATE_TEST_SUITE_P(Each, LostWindowsOfModes,
                         testing::Values(Counted{"charge_refund", false}, Counted{"check_charge", false},
                                         Counted{"check_charge", true}, Counted{"lease", false}),
                         [](const auto& one) {
                             return std::string(one.param.mode) + (one.param.replica ? "_by_replica" : "");
                         });

/// Requests of a worker by plain increments that were on their way together when their window was lost.
class LostWindowsOfMany : public testing::Test {
protected:
    LostWindowsOfMany() {
        EXPECT_EQ(world.admitted(3, "k"), 3U);
        world.let_connections_age();
        redis.lose_data(nullptr);
    }

    std::vector<ClientRequest*> begin(std::size_t count) {
        std::vector<ClientRequest*> all;
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(&world.begin("k"));
        }
        world.pass(10);
        return all;
    }

    Scenario world{{"default", "40r/h", "charge_refund"}};
    Redis redis{world.events, world.network, Scenario::primary_address};
};

TEST_F(LostWindowsOfMany, GetBackWhatIsNotCharged) {
    const auto all = begin(5);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_TRUE(all[i]->is_admitted());
        all[i]->end(i != 2);
    }
    world.pass(100);
    EXPECT_EQ(redis.used(stored_key("k")), 1);
}

TEST_F(LostWindowsOfMany, AdmitNoMoreThanTheLimit) {
    std::size_t admitted = 0;
    for (ClientRequest* request : begin(45)) {
        admitted += request->is_admitted() ? 1 : 0;
    }
    EXPECT_EQ(admitted, 40U);
    EXPECT_EQ(redis.used(stored_key("k")), 40);
    world.pass(100);
    EXPECT_EQ(world.ask("k"), "REJECTED");
}

}  // namespace
}  // namespace rate_limit::world::lost_windows_test
