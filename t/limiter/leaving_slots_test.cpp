// Slots of running requests go back before the last worker of a zone ends, however late its requests end, and
// whoever of several leaving workers asks Redis just then.

#include <string>
#include <vector>

#include "t/limiter/slots.h"

namespace rate_limit::world::leaving_slots_test {
namespace {

/// How long requests run after their workers have begun to leave, in ms; how many workers have them; whether
/// they end in the order in which they began; how long workers may have read the clock before they run, in
/// us.
struct Leaving {
    Msec later;
    std::size_t workers;
    bool in_order;
    Micros read_before;
};

class LeavingSlots : public testing::TestWithParam<Leaving> {
protected:
    /// Six requests run, and their workers begin to leave. After that time the requests end, all at once, or
    /// a millisecond after another where clocks are late.
    void end_late(Msec primary_pauses) {
        const auto [later, workers, in_order, read_before] = GetParam();
        world.machine().clock().read_before = read_before;
        std::vector<ClientRequest*> requests;
        world.worker(workers - 1);
        for (std::size_t i = 0; i < 6; ++i) {
            requests.push_back(&world.begin("k", &world.worker(i % workers)));
            world.pass(5);
            ASSERT_EQ(outcome(*requests.back()), "PASSED");
        }
        world.pass(2'000);
        for (std::size_t i = 0; i < workers; ++i) {
            world.worker(i).leave();
        }
        world.pass(later);
        EXPECT_EQ(held(world.primary), "6 ") << "what runs is still held";
        if (primary_pauses != 0) {
            world.primary.pause();
        }
        for (std::size_t i = 0; i < 6; ++i) {
            requests[in_order ? i : 5 - i]->end();
            world.pass(read_before != 0 ? 1 : 0);
        }
        world.pass(primary_pauses);
        world.primary.resume();
        EXPECT_TRUE(world.until([this] { return world.end_leaving() == 0; }, 3'000));
        world.pass(100);
    }

    OneMachine world{running("6")};
};

TEST_P(LeavingSlots, GoBackBeforeTheLastWorkerEnds) {
    end_late(0);
    EXPECT_EQ(held(world.primary), "");
}

/// The first call is not answered in time.
TEST_P(LeavingSlots, GoBackToAPrimaryThatPauses) {
    end_late(500);
    EXPECT_EQ(held(world.primary), "");
}

INSTANTIATE_TEST_SUITE_P(Each, LeavingSlots, testing::ValuesIn([] {
                             std::vector<Leaving> all;
                             for (const Msec later : {1, 100, 1'200, 2'000, 5'000, 60'000}) {
                                 for (const std::size_t workers : {1, 2, 6}) {
                                     for (const Micros late : {0, 2'000, 50'000}) {
                                         all.push_back({static_cast<Msec>(later), workers, true, late});
                                         all.push_back({static_cast<Msec>(later), workers, false, late});
                                     }
                                 }
                             }
                             return all;
                         }()));

/// Those that no request uses go back at once.
TEST(IdleSlots, GoBackWhileRequestsRun) {
    OneMachine world(running("1000"));
    const auto run = [&world](const char* key, int count) {
        std::vector<ClientRequest*> requests;
        for (int i = 0; i < count; ++i) {
            requests.push_back(&world.begin(key, &world.worker(static_cast<std::size_t>(i) % 2)));
            world.pass(5);
        }
        return requests;
    };
    for (ClientRequest* request : run("idle", 50)) {
        request->end();
    }
    const std::vector<ClientRequest*> open = run("k", 20);
    EXPECT_NE(held(world.primary, "idle"), "");
    world.worker(0).leave();
    world.worker(1).leave();
    EXPECT_TRUE(world.until([&world] { return held(world.primary, "idle").empty(); }, 300));
    EXPECT_GE(std::stoi(held(world.primary)), 20);
    for (ClientRequest* request : open) {
        request->end();
    }
    EXPECT_TRUE(world.until([&world] { return world.end_leaving() == 0; }));
    EXPECT_EQ(held(world.primary), "");
}

/// Why a primary takes nothing back.
struct Away {
    const char* name;
    void (*begins)(Redis& primary);
};

class SlotsThatCannotGoBack : public testing::TestWithParam<Away> {};

/// An answer that is under way is waited for, until charge_timeout and the next round of upkeep.
TEST_P(SlotsThatCannotGoBack, KeepNoWorkerForLong) {
    OneMachine world(running("10"));
    std::vector<ClientRequest*> requests;
    for (int i = 0; i < 5; ++i) {
        requests.push_back(&world.begin("k"));
        world.pass(5);
        ASSERT_EQ(outcome(*requests.back()), "PASSED");
    }
    GetParam().begins(world.primary);
    for (ClientRequest* request : requests) {
        request->end();
    }
    world.worker().leave();
    const Msec longest = world.setup.stores.front().charge_timeout + 250;
    EXPECT_TRUE(world.until([&world] { return world.end_leaving() == 0; }, longest));
}

TEST(SlotsOfNoPrimary, KeepNoWorkerWhereThePrimaryWasNeverThere) {
    OneMachine world(running("10"));
    world.primary.kill(true);
    EXPECT_EQ(world.ask("k"), "ERROR_ALLOWED");
    world.worker().leave();
    EXPECT_TRUE(world.until([&world] { return world.end_leaving() == 0; }, 5'000));
}

INSTANTIATE_TEST_SUITE_P(Each, SlotsThatCannotGoBack,
                         testing::Values(Away{"killed", [](Redis& primary) { primary.kill(true); }},
                                         Away{"frozen", [](Redis& primary) { primary.pause(); }},
                                         Away{"readonly",
                                              [](Redis& primary) {
                                                  primary.server().state.role = ServerRole::replica;
                                              }},
                                         Away{"noperm",
                                              [](Redis& primary) {
                                                  primary.server().state.forbidden = {"hset", "hdel"};
                                              }}),
                         [](const auto& away) { return std::string(away.param.name); });

}  // namespace
}  // namespace rate_limit::world::leaving_slots_test
