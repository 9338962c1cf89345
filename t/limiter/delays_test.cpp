// By `delay=` of a token bucket what is above so many tokens waits for its turn: on one machine, and in Redis
// by one queue of all machines.

#include <cstdint>
#include <deque>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "limiter/tallies/tallies.h"
#include "limiter/waits/delays.h"
#include "t/limiter/scenario.h"

namespace rate_limit::world::delays_test {
namespace {

LimitSetup delaying(const std::string& rate, std::int64_t burst, std::int64_t delay,
                    const std::string& store) {
    LimitSetup limit{"default", rate, "charge_refund", burst, store};
    limit.delay = delay;
    return limit;
}

/// In which store, and whether its plain commands take the tokens, as they do where the bucket is known.
struct Way {
    const char* name;
    const char* store;
    bool plain = false;

    friend std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
};

constexpr Way ways[] = {{"local", "local"}, {"script", "main"}, {"plain", "main", true}};

class Delays : public testing::TestWithParam<Way> {
protected:
    /// A bucket of 20 tokens that is known and full, of which a token takes 100 ms.
    explicit Delays(std::int64_t delay = 1) : world(delaying("10r/s", 20, delay, GetParam().store)) {}

    void SetUp() override {
        world.worker();
        if (!is_local()) {
            primary.emplace(world.events, world.network, Scenario::primary_address);
        }
        world.let_connections_age();
        if (GetParam().plain) {
            EXPECT_EQ(world.ask("k"), "PASSED");
            world.pass(300);
        }
    }

    bool is_local() const { return std::string(GetParam().store) == "local"; }

    ClientRequest& begin(const RequestSetup& setup = "k") { return world.begin(setup); }

    std::vector<ClientRequest*> begin_all(std::size_t count) {
        std::vector<ClientRequest*> all;
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(&begin());
        }
        return all;
    }

    /// Milliseconds that it waits for its turn; the way to Redis and back is not a part of it.
    Msec turn_of(ClientRequest& request) {
        EXPECT_TRUE(world.until([&] { return request.is_concluded(); }));
        EXPECT_EQ(outcome(request), "PASSED");
        return request.delayed();
    }

    /// The use that a request is told which takes nothing.
    std::int64_t used() {
        world.pass(20);  // refunds have gone
        ClientRequest& request = begin({"k", 0});
        EXPECT_TRUE(world.until([&] { return request.is_concluded(); }, 50))
            << "what takes nothing waits for nothing";
        request.end();
        return request.quota().used;
    }

    Scenario world;
    std::optional<Redis> primary;
};

class DelaysOfThree : public Delays {
protected:
    DelaysOfThree() : Delays(3) {}
};

/// Timers and instants are of whole milliseconds.
void expect_turn(Msec turn, Msec expected) {
    EXPECT_GE(turn + 1, expected);
    EXPECT_LE(turn, expected + 1);
}

TEST_P(Delays, LetEachWaitForItsTurn) {
    const std::vector<ClientRequest*> all = begin_all(5);
    for (std::size_t i = 0; i < all.size(); ++i) {
        expect_turn(turn_of(*all[i]), 100 * i);
        expect_turn(static_cast<Msec>(all[i]->delay), 100 * i);
    }
}

TEST_P(Delays, EndWhereTheBurstDoes) {
    std::vector<ClientRequest*> all = begin_all(21);
    world.pass(20);
    EXPECT_EQ(outcome(*all.back()), "REJECTED") << "it does not wait";
    EXPECT_EQ(all.back()->delay, 0);
    expect_turn(turn_of(*all[18]), 1800);  // plain commands reckon with a bit less
}

TEST_P(DelaysOfThree, LetSoManyPassAtOnce) {
    const std::vector<ClientRequest*> all = begin_all(5);
    for (std::size_t i = 0; i < all.size(); ++i) {
        expect_turn(turn_of(*all[i]), i < 3 ? 0 : 100 * (i - 2));
    }
}

TEST_P(DelaysOfThree, AreReckonedInPartsOfTokens) {
    begin_all(3);
    world.pass(130);
    expect_turn(turn_of(begin()), 0);  // 1.7 tokens are to be refilled, and its own
    expect_turn(turn_of(begin()), 70);
}

TEST_P(DelaysOfThree, AreOfWhatTheCostTakes) {
    expect_turn(turn_of(begin({"k", 5})), 200);
    expect_turn(turn_of(begin({"k", 2})), 200);  // two of these seven tokens are refilled
}

/// Its slot is taken with its tokens.
TEST_P(Delays, HoldSlots) {
    world.setup.limits.push_back({"running", "2", "", 0, "local", lease_auto, "first", true});
    world.reload();
    world.pass(2'000);
    const std::vector<ClientRequest*> two = begin_all(2);
    world.pass(50);
    EXPECT_TRUE(two[0]->is_concluded());
    EXPECT_FALSE(two[1]->is_concluded());
    ClientRequest& third = begin();
    world.pass(20);
    EXPECT_EQ(outcome(third), "REJECTED") << "by running requests, of which one waits";
    two[0]->end();
    expect_turn(turn_of(*two[1]), 100);
    two[1]->end();
    EXPECT_LE(used(), 1) << "what the third took has gone back";
}

TEST_P(Delays, CountByTheLongest) {
    LimitSetup slower = delaying("5r/s", 20, 1, GetParam().store);
    slower.name = "slower";
    world.setup.limits.push_back(slower);
    world.reload();
    world.pass(2'000);
    const std::vector<ClientRequest*> all = begin_all(3);
    for (std::size_t i = 0; i < all.size(); ++i) {
        expect_turn(turn_of(*all[i]), 200 * i);
        expect_turn(static_cast<Msec>(all[i]->delay), 200 * i);
    }
}

/// The one behind the one that leaves takes its place only where it comes later.
TEST_P(Delays, GiveBackTheLastOfTheQueue) {
    std::vector<ClientRequest*> all = begin_all(4);
    world.pass(50);
    all.back()->abort();
    EXPECT_EQ(outcome(*all.back()), "PASSED");
    EXPECT_EQ(all.back()->applied(0).charged, 0);
    world.pass(20);
    expect_turn(turn_of(begin()), 230);
    expect_turn(turn_of(*all[2]), 200);
}

TEST_P(Delays, KeepWhatIsNotTheLastOfTheQueue) {
    std::vector<ClientRequest*> all = begin_all(4);
    world.pass(50);
    all[2]->abort();
    EXPECT_EQ(all[2]->applied(0).charged, is_local() ? 1 : 0) << "in Redis nobody knows it here";
    world.pass(20);
    expect_turn(turn_of(*all[3]), 300);
    expect_turn(turn_of(begin()), 100);
}

TEST_P(Delays, LeaveAQueueFromItsEnd) {
    std::vector<ClientRequest*> all = begin_all(4);
    world.pass(10);
    all[3]->abort();
    world.pass(5);
    all[2]->abort();
    world.pass(5);
    expect_turn(turn_of(begin()), 180);
}

TEST_P(Delays, DoNotKeepWhatAnExemptStatusGivesBack) {
    std::vector<ClientRequest*> all = begin_all(2);
    expect_turn(turn_of(*all[1]), 100);
    all[1]->end(true);
    EXPECT_EQ(used(), 0) << "the second is given back, and the first refilled";
}

TEST_P(Delays, AreToldAndNotKeptInADryRun) {
    world.setup.limits.front().enforced = Enforced::dry_run;
    world.reload();
    world.pass(2'000);
    for (ClientRequest* const each : begin_all(3)) {
        expect_turn(turn_of(*each), 0);
        EXPECT_EQ(each->delay % 100, 0);
        each->end();
    }
    ClientRequest& request = begin();
    expect_turn(turn_of(request), 0);
    EXPECT_NEAR(static_cast<double>(request.delay), 300, 30);
}

TEST_P(Delays, AreOverBeforeTheWorkerIs) {
    std::vector<ClientRequest*> all = begin_all(3);
    world.pass(50);
    world.reload();
    world.pass(50);
    EXPECT_EQ(world.end_leaving(), 1U) << "it waits for its requests";
    expect_turn(turn_of(*all[2]), 200);
    for (ClientRequest* each : all) {
        each->end();
    }
    EXPECT_TRUE(world.until([this] { return world.end_leaving() == 0; }));
}

/// Requests that waited, and for how long.
TEST_P(Delays, AreCounted) {
    std::vector<ClientRequest*> all = begin_all(4);
    world.pass(150);
    all[2]->abort();
    turn_of(*all[3]);
    const auto& counters = world.worker().configuration().tallies->all().at(0).of<Delaying>();
    ASSERT_TRUE(counters);
    EXPECT_EQ(counters->own_count(Delaying::delayed), 3U);
    EXPECT_NEAR(static_cast<double>(counters->own_count(Delaying::millis)), 100 + 150 + 300, 8);
}

INSTANTIATE_TEST_SUITE_P(Each, Delays, testing::ValuesIn(ways), [](const auto& of) { return of.param.name; });
INSTANTIATE_TEST_SUITE_P(Each, DelaysOfThree, testing::ValuesIn(ways),
                         [](const auto& of) { return of.param.name; });

/// One queue, whose places machines take in turn.
TEST(DelaysOfTwoMachines, AreOneQueue) {
    Scenario world(delaying("10r/s", 20, 1, "main"));
    Redis primary(world.events, world.network, Scenario::primary_address);
    world.worker(0, 0);
    world.worker(0, 1);
    world.machine(1).clock().stepped = 10'000'000;
    world.pass(2'000);
    std::vector<ClientRequest*> all;
    for (std::size_t i = 0; i < 6; ++i) {
        all.push_back(&world.begin("k", &world.worker(0, i % 2)));
        world.pass(3);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_TRUE(world.until([&] { return all[i]->is_concluded(); }));
        expect_turn(all[i]->delayed() + 3 * i, 100 * i);
    }
}

TEST(DelaysWithoutAStore, AreNone) {
    for (const OnError on_error : {OnError::allow, OnError::local}) {
        Scenario world(delaying("10r/s", 20, 1, "main"), 100);
        world.setup.on_error = on_error;
        for (int i = 0; i < 5; ++i) {
            ClientRequest& request = world.begin("k");
            ASSERT_TRUE(world.until([&] { return request.is_concluded(); }, 150));
            EXPECT_TRUE(request.is_admitted());
            EXPECT_EQ(request.delay, 0);
        }
    }
}

/// Another limit rejects: nothing waits, and nothing is taken.
TEST(DelaysBesideAnotherLimit, AreNoneWhereThatRejects) {
    Scenario world(delaying("10r/s", 20, 1, "local"));
    world.setup.limits.push_back({"few", "1r/h", "charge_refund", 0, "local"});
    EXPECT_EQ(world.ask("k"), "PASSED");
    for (int i = 0; i < 3; ++i) {
        ClientRequest& request = world.begin("k");
        EXPECT_EQ(outcome(request), "REJECTED");
        EXPECT_TRUE(request.is_over());
        EXPECT_EQ(request.delay, 0);
    }
    ClientRequest& alone = world.begin(RequestSetup("k").under({"default"}));
    ASSERT_TRUE(world.until([&] { return alone.is_concluded(); }));
    expect_turn(alone.delayed(), 100);
}

/// A client that leaves its turn has not been served: a window takes nothing of it.
TEST(DelaysBesideAnotherLimit, GiveThatBackWhatLeaves) {
    Scenario world(delaying("10r/s", 20, 1, "local"));
    world.setup.limits.push_back({"many", "100r/h", "charge_refund", 0, "local"});
    EXPECT_EQ(world.ask("k"), "PASSED");
    ClientRequest& second = world.begin("k");
    ClientRequest& third = world.begin("k");
    second.abort();
    third.abort();
    EXPECT_EQ(second.applied(0).charged, 1) << "another one stood behind it";
    EXPECT_EQ(second.applied(1).charged, 0);
    ClientRequest& last = world.begin({"k", 0});
    EXPECT_EQ(last.quota(0).used, 2);
    EXPECT_EQ(last.quota(1).used, 1);
}

/// However many are due, a turn lets only some go on; and in the order in which they came.
TEST(DelaysOfManyKeys, LetSomeGoOnInATurn) {
    Scenario world(delaying("1r/s", 20, 1, "local"));
    world.setup.zone_size = std::size_t{8} << 20;
    constexpr std::size_t count = 10'000;
    std::vector<ClientRequest*> all;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string key = std::to_string(i);
        EXPECT_TRUE(world.begin(key).is_concluded());
        all.push_back(&world.begin(key));
    }
    world.pass(999);
    std::size_t passed = 0;
    for (Msec time = 0; time < 1'000 && passed < count; ++time) {
        const std::size_t before = passed;
        world.pass(1);
        while (passed < count && all[passed]->is_concluded()) {
            ++passed;
        }
        EXPECT_LE(passed - before, rate_limit::Delays::most_a_turn);
    }
    EXPECT_EQ(passed, count);
}

/// Some of those that wait leave.
TEST(DelaysOfAWorker, PassInTheOrderOfTheirTimes) {
    struct Waiter : Delay {
        void delay_passed() noexcept override { passed->push_back(this); }

        std::vector<Waiter*>* passed = nullptr;
        Msec due = 0;
        std::size_t number = 0;
    };
    Events events;
    Loop loop(events);
    std::vector<Waiter*> passed;
    std::deque<Waiter> all(2'000);
    std::uint64_t seed = 1;
    const auto draw = [&seed](std::uint64_t below) {
        seed = seed * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        return (seed >> 33) % below;
    };
    const auto delays = []() -> rate_limit::Delays& { return Worker::current().part<rate_limit::Delays>(); };
    std::size_t left = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        loop.turn([&] {
            all[i].passed = &passed;
            all[i].number = i;
            const Msec wait = draw(200);
            all[i].due = msec_now() + wait;
            EXPECT_TRUE(delays().add(all[i], wait));
            Waiter& other = all[draw(i + 1)];
            if (draw(3) == 0 && other.waiting()) {
                delays().remove(other);
                ++left;
            }
        });
        EXPECT_TRUE(delays().count() == 0 || loop.is_kept());
        events.pass(static_cast<Micros>(draw(300)));
    }
    events.pass(1'000'000);
    EXPECT_EQ(passed.size() + left, all.size());
    EXPECT_FALSE(loop.is_kept());
    for (std::size_t i = 1; i < passed.size(); ++i) {
        const Waiter& before = *passed[i - 1];
        EXPECT_TRUE(before.due < passed[i]->due ||
                    (before.due == passed[i]->due && before.number < passed[i]->number));
    }
}

}  // namespace
}  // namespace rate_limit::world::delays_test
