// Limits that reserve an estimate before the request, and are settled at its end: what the store has then.

#include <ostream>
#include <string>
#include <vector>

#include "limiter/tallies/tallies.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/way.h"

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

}  // namespace
}  // namespace rate_limit::world::reservations_test
