// Limits that reserve an estimate before the request, and are settled at its end: what the store has then.

#include <ostream>
#include <string>
#include <vector>

#include "limiter/tallies/tallies.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/way.h"
#include "t/world/sentinel.h"

namespace rate_limit::world::reservations_test {
namespace {

LimitSetup reserving(LimitSetup limit) {
    limit.reserves = true;
    return limit;
}

/// Each limit is a hundred an hour. A bucket is refilled with nothing to speak of while a test lasts.
const std::vector<Way> ways = {
    {"windows, charge_refund", {"default", "100r/h", "charge_refund"}},
    {"windows, lease", {"default", "100r/h", "lease"}},
    {"windows, lease of 30", {"default", "100r/h", "lease", 0, "main", 30}},
    {"windows, local", {"default", "100r/h", "charge_refund", 0, "local"}},
    {"windows by the clock", {"default", "100r/d", "charge_refund", 0, "main", lease_auto, "clock"}},
    {"buckets, charge_refund", {"default", "1r/h", "charge_refund", 100}},
    {"buckets, lease", {"default", "1r/h", "lease", 100}},
    {"buckets, local", {"default", "1r/h", "lease", 100, "local"}},
};

class Reservations : public testing::TestWithParam<Way> {
protected:
    OneMachine world{reserving(GetParam().limit)};

    ClientRequest& begin(std::int64_t estimate) {
        ClientRequest& request = world.begin(RequestSetup("client", 7).reserving(estimate));
        world.pass(50);
        return request;
    }

    /// Returns what is used, as another request, which costs nothing, is told.
    std::int64_t used() {
        world.pass(12'000);  // batches have gone, and tokens at hand are back
        ClientRequest& request = world.begin({"client", 0});
        world.pass(50);
        const std::int64_t seen = request.quota().used;
        request.end();
        return seen;
    }

    bool is_bucket() const { return GetParam().limit.burst != 0; }
};

TEST_P(Reservations, StayWhereTheCostIsNotSaid) {
    ClientRequest& request = begin(30);
    ASSERT_TRUE(request.is_admitted());
    EXPECT_EQ(request.quota().used, 30) << "before the end";
    request.end();
    EXPECT_EQ(request.applied(0).charged, 30);
    EXPECT_EQ(used(), 30);
}

TEST_P(Reservations, AreSettledDown) {
    ClientRequest& request = begin(30);
    request.end_at_cost(12);
    EXPECT_EQ(request.applied(0).charged, 12);
    EXPECT_EQ(used(), 12);
}

TEST_P(Reservations, AreSettledToNothing) {
    begin(30).end_at_cost(0);
    EXPECT_EQ(used(), 0);
}

TEST_P(Reservations, AreSettledUp) {
    ClientRequest& request = begin(30);
    request.end_at_cost(45);
    EXPECT_EQ(request.applied(0).charged, 45);
    EXPECT_EQ(used(), 45);
}

TEST_P(Reservations, AreSettledUpFromNothing) {
    ClientRequest& request = begin(0);
    ASSERT_TRUE(request.is_admitted());
    request.end_at_cost(20);
    EXPECT_EQ(used(), 20);
}

TEST_P(Reservations, AreChargedAboveTheLimit) {
    ClientRequest& request = begin(60);
    request.end_at_cost(150);
    EXPECT_EQ(request.applied(0).charged, 150);
    world.pass(12'000);
    ClientRequest& next = begin(1);
    EXPECT_FALSE(next.is_admitted());
    EXPECT_EQ(next.quota().remaining, 0);
    EXPECT_EQ(next.quota().used, is_bucket() ? 100 : 150) << "a bucket is empty, and no more";
}

TEST_P(Reservations, GoBackWithAnExemptStatus) {
    ClientRequest& request = begin(30);
    request.end(true);
    EXPECT_EQ(request.applied(0).charged, 0);
    EXPECT_EQ(used(), 0);
}

TEST_P(Reservations, GoBackWithARequestThatIsGone) {
    begin(30).abort();
    EXPECT_EQ(used(), 0);
}

TEST_P(Reservations, AreNeverMoreThanTheLimit) {
    ClientRequest& request = begin(64'000);
    ASSERT_TRUE(request.is_admitted());
    const std::int64_t all = request.applied(0).cost;
    EXPECT_LE(all, 100);
    EXPECT_GE(all, 99) << "a bucket keeps back what is refilled in the life of a token";
    EXPECT_FALSE(begin(1).is_admitted());
    request.end_at_cost(40);
    EXPECT_EQ(used(), 40);
}

/// The bar: whoever checks first and charges after the stream lets all five through.
TEST_P(Reservations, OfParallelRequestsPassAsTheEstimateSays) {
    for (const std::int64_t estimate : {100, 80, 50}) {
        std::vector<ClientRequest*> requests;
        for (int i = 0; i < 5; ++i) {
            const std::string key = "client" + std::to_string(estimate);
            requests.push_back(&world.begin(RequestSetup(key).reserving(estimate)));
        }
        world.pass(1000);
        std::int64_t passed = 0;
        for (ClientRequest* request : requests) {
            if (request->is_admitted()) {
                request->end_at_cost(100);
                passed += request->applied(0).charged;
            }
        }
        const std::int64_t most = 100 / estimate;  // requests at a time
        EXPECT_GE(passed, 100);
        EXPECT_LE(passed, 100 + most * (100 - estimate)) << "an estimate of " << estimate;
    }
}

TEST_P(Reservations, AreCountedBesideWhatTheyCameTo) {
    begin(30).end_at_cost(45);
    begin(20).end(true);
    begin(10).end();
    EXPECT_EQ(used(), 55);
    const auto& counters = world.worker().configuration().tallies->all().at(0).of<Reserving>();
    ASSERT_TRUE(counters);
    EXPECT_EQ(counters->own_count(Reserving::reserved), 60U);
    EXPECT_EQ(counters->own_count(Reserving::settled), 55U);
}

TEST(ReservationsOfNoLimit, TakeNoCounters) {
    OneMachine world({"default", "100r/h", "charge_refund"});
    EXPECT_EQ(world.ask("client"), "PASSED");
    Tallies& tallies = *world.worker().configuration().tallies;
    EXPECT_FALSE(tallies.all().at(0).of<Reserving>());
    EXPECT_FALSE(tallies.counters_of_some<Reserving>(nullptr));
}

INSTANTIATE_TEST_SUITE_P(Each, Reservations, testing::ValuesIn(ways));

/// Another limit rejects: nothing is reserved.
TEST(ReservationsOfSeveralLimits, GoBackWhereOneRejects) {
    OneMachine world(reserving({"tokens", "100r/h", "charge_refund"}));
    world.setup.limits.push_back(reserving({"few", "1r/h", "charge_refund"}));
    ClientRequest& first = world.begin(RequestSetup("client").reserving(30).under({"tokens", "few"}));
    world.pass(50);
    ASSERT_TRUE(first.is_admitted());
    EXPECT_EQ(first.applied(1).cost, 1) << "each of them has its own bound";
    first.end_at_cost(40);
    world.pass(50);
    EXPECT_EQ(world.ask(RequestSetup("client").reserving(30)), "REJECTED");
    world.pass(12'000);
    EXPECT_EQ(world.primary.used("rl:tokens/3600:client"), 40);
    EXPECT_EQ(world.primary.used("rl:few/3600:client"), 40) << "the cost of the first, above the limit";
}

/// A lease reserves for such a key by a call of its own, as charge_refund does.
TEST(ReservationsOfASeldomKey, AreSettledToNothing) {
    OneMachine world(reserving({"default", "10000r/h", "lease"}));
    EXPECT_EQ(world.ask("client"), "PASSED");
    world.pass(20'000);
    ClientRequest& request = world.begin(RequestSetup("client").reserving(30));
    world.pass(50);
    ASSERT_TRUE(request.is_admitted());
    EXPECT_TRUE(std::holds_alternative<Reservation>(request.applied(0).asked));
    request.end_at_cost(0);
    world.pass(20'000);
    EXPECT_EQ(world.primary.used(stored_key("client")), 1);
}

/// A long answer ends in a later window: what was reserved belongs to the first, and what is above to the
/// next.
TEST(ReservationsOverTheEndOfAWindow, AreSettledInTheNext) {
    for (const char* store : {"main", "local"}) {
        OneMachine world(reserving({"default", "100r/m", "charge_refund", 0, store}));
        ClientRequest& request = world.begin(RequestSetup("client").reserving(30));
        world.pass(50);
        ASSERT_TRUE(request.is_admitted());
        world.pass(61'000);
        request.end_at_cost(70);
        world.pass(2'000);
        ClientRequest& next = world.begin({"client", 1});
        world.pass(50);
        EXPECT_EQ(next.quota().used, 41) << store;
    }
}

/// The primary is away as the request begins, and memory lets it pass: all of its cost is charged.
TEST(ReservationsWithoutAStore, AreChargedAtTheEnd) {
    OneMachine world(reserving({"default", "100r/h", "charge_refund"}));
    world.setup.on_error = OnError::local;
    EXPECT_EQ(world.ask(RequestSetup("client").reserving(10)), "PASSED");
    world.pass(50);
    world.primary.kill(true);
    world.pass(10'000);  // nobody asks it then, so that no answer is in doubt
    ClientRequest& request = world.begin(RequestSetup("client").reserving(30));
    world.pass(1'000);
    EXPECT_EQ(std::string(to_string(request.outcome)), "ERROR_LOCAL");
    request.end_at_cost(45);
    ClientRequest& kept = world.begin(RequestSetup("client").reserving(20));
    world.pass(1'000);
    kept.end();
    world.primary.start();
    world.pass(30'000);
    EXPECT_EQ(world.primary.used("rl:default/3600:client"), 75);
}

/// A window that is known to be open, and to have a request's estimate left, is charged by a plain increment.
/// If that counts no more than the estimate, the window may have been lost: it is repaired.
class RepairedReservations : public testing::Test {
protected:
    RepairedReservations() {
        StoreSetup& store = world.setup.stores.front();
        store.shards = {{"a", "", {}, "m"}};
        store.sentinels = {sentinel.address()};
        sentinel.watch("m").primary = world.primary.address();
        world.worker();
        world.pass(100);
        EXPECT_EQ(world.ask("client"), "PASSED");
        world.let_connections_age();
    }

    /// The increment of a request has found no window, and will be answered in 20 ms.
    ClientRequest& begin_without_window(std::int64_t estimate) {
        keys().erase(key);
        place(20'000);
        ClientRequest& request = world.begin(RequestSetup("client").reserving(estimate));
        EXPECT_TRUE(world.until([this] { return keys().find(key) != nullptr; }));
        EXPECT_EQ(stored().used, estimate);
        EXPECT_EQ(stored().reset, 0);
        EXPECT_FALSE(request.is_decided());
        return request;
    }

    void place(Micros each_way) { world.primary.link().there = world.primary.link().back = each_way; }
    Keyspace& keys() { return world.primary.server().databases().front(); }
    Window stored() { return world.primary.window(key); }

    const std::string key = stored_key("client", "60");
    OneMachine world{reserving({"default", "100r/m", "charge_refund"})};
    Redis second{world.events, world.network, "10.0.0.2:6379"};
    Sentinel sentinel{world.network, "10.0.1.1:26379"};
};

TEST_F(RepairedReservations, AreSettledInTheWindowThatTheRepairHasOpened) {
    ClientRequest& request = begin_without_window(30);
    world.pass(70);
    ASSERT_TRUE(request.is_admitted());
    EXPECT_NE(keys().find(key)->expires, never);
    request.end_at_cost(12);
    world.pass(1'000);
    EXPECT_EQ(stored().used, 12);
}

TEST_F(RepairedReservations, GoBackWithARequestThatLeavesBeforeTheRepair) {
    begin_without_window(30).abort();
    world.pass(1'000);
    EXPECT_EQ(stored().used, 0);
}

TEST_F(RepairedReservations, GoBackWithARequestThatLeavesBeforeTheRepairIsAnswered) {
    ClientRequest& request = begin_without_window(30);
    EXPECT_TRUE(world.until([this] { return stored().reset != 0; }));
    request.abort();
    world.pass(1'000);
    EXPECT_EQ(stored().used, 0);
}

TEST_F(RepairedReservations, StayWhereTheRepairIsRefused) {
    world.primary.server().state.forbidden.insert("pexpire");
    ClientRequest& request = begin_without_window(30);
    world.pass(70);
    ASSERT_TRUE(request.is_admitted());
    EXPECT_EQ(stored().reset, 0);
    world.primary.server().state.forbidden.clear();
    request.end_at_cost(42);
    world.pass(1'000);
    EXPECT_EQ(stored().used, 42);
    EXPECT_NE(keys().find(key)->expires, never) << "the next charge has opened the window";
}

TEST_F(RepairedReservations, StayWhereTheRepairIsNotAnswered) {
    ClientRequest& request = begin_without_window(30);
    EXPECT_TRUE(world.until([this] { return stored().reset != 0; }));
    world.primary.reset_connections();
    world.pass(1'000);
    ASSERT_TRUE(request.is_admitted());
    request.end_at_cost(42);
    world.pass(1'000);
    EXPECT_EQ(stored().used, 42);
}

TEST_F(RepairedReservations, AreSettledWhereTheRepairIsAnsweredLate) {
    for (const bool gone : {false, true}) {
        ClientRequest& request = begin_without_window(30);
        place(500'000);
        EXPECT_TRUE(world.until([&request] { return request.is_decided(); }));
        EXPECT_EQ(outcome(request), "ERROR_ALLOWED");
        if (gone) {
            request.end_at_cost(12);
        }
        world.pass(2'000);
        if (!gone) {
            request.end_at_cost(12);
        }
        world.pass(2'000);
        EXPECT_EQ(stored().used, 12) << "the request is gone: " << gone;
        world.pass(70'000);
        world.primary.link() = {};
        EXPECT_EQ(world.ask("client"), "PASSED");
        world.let_connections_age();
    }
}

/// The repair is done when another primary takes over, and its answer comes then, or never.
class RepairedByAFormerPrimary : public RepairedReservations, public testing::WithParamInterface<bool> {
protected:
    void fail_over_with(const Value& value) {
        world.primary.link().silent_back = true;
        second.server().databases().front().make(key) = value;
        sentinel.watch("m").primary = second.address();
        ++sentinel.watch("m").epoch;
        world.pass(3'000);
        EXPECT_EQ(world.logged("10.0.0.2:6379"), 1U);
    }

    void settle(ClientRequest& request, std::int64_t cost) {
        request.end_at_cost(cost);
        GetParam() ? void(world.primary.link().silent_back = false) : world.primary.reset_connections();
        world.pass(3'000);
    }
};

TEST_P(RepairedByAFormerPrimary, TakeNothingFromAWindowThatOnlyItHadLost) {
    Value lost = *keys().find(key);
    std::get<Hash>(lost.content).set("used", "50");
    ClientRequest& request = begin_without_window(30);
    EXPECT_TRUE(world.until([this] { return stored().reset != 0; }));
    fail_over_with(lost);
    settle(request, 12);
    EXPECT_EQ(second.used(key), 50);
}

TEST_P(RepairedByAFormerPrimary, AreSettledInTheWindowThatTheRepairHasOpened) {
    ClientRequest& request = begin_without_window(30);
    EXPECT_TRUE(world.until([this] { return stored().reset != 0; }));
    fail_over_with(*keys().find(key));
    settle(request, 12);
    EXPECT_EQ(second.used(key), GetParam() ? 12 : 30) << "which window that is the answer says";
}

INSTANTIATE_TEST_SUITE_P(Answered, RepairedByAFormerPrimary, testing::Bool());

}  // namespace
}  // namespace rate_limit::world::reservations_test
