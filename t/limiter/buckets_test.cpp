// Token buckets of one machine and of several: what clients are told, and what waves of requests take.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "t/limiter/calls.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/way.h"

namespace rate_limit::world::buckets_test {
namespace {

using Requests = std::vector<ClientRequest*>;

/// A request at some time of a cost, and what it is told: what remains, and in how many seconds there is
/// more.
struct Asked {
    Millis at;
    std::int64_t cost;
    const char* told;
    const char* why;
};

class ResetOfABucket : public testing::TestWithParam<Way> {};

/// Reset and `t` say when the next token comes; where a request is rejected, when its cost fits.
TEST_P(ResetOfABucket, IsWhenMoreIsAvailable) {
    OneMachine world(GetParam().limit);
    EXPECT_EQ(world.ask("other"), "PASSED");
    const Millis begun = world.at();
    for (const Asked& asked : {Asked{0, 0, "PASSED 4 0", "all is available"},
                               {0, 1, "PASSED 3 60", "one is taken, and back in a minute"},
                               {20'000, 1, "PASSED 2 40", "of the first one a third is back"},
                               {20'000, 2, "PASSED 0 40", "the last two"},
                               {20'000, 1, "REJECTED 0 40 later", "the next one is there in 40 seconds"},
                               {20'000, 3, "REJECTED 0 160 later", "a cost of three two minutes later"},
                               {20'000, 5, "REJECTED 0 40", "a cost above the burst never"},
                               {20'300, 1, "REJECTED 0 40 later", "times are rounded up"},
                               {20'300, 3, "REJECTED 0 160 later", "of a larger cost too"},
                               {59'900, 1, "REJECTED 0 1 later", "a tenth of a second before"},
                               {60'010, 1, "PASSED 0 60", "at that time it passes"},
                               {180'010, 3, "REJECTED 0 60 later", "what has come back meanwhile counts"}}) {
        world.pass(static_cast<Msec>(std::max<Millis>(0, begun + asked.at - world.at())));
        ClientRequest& request = world.begin({"k", asked.cost});
        world.pass(1);
        const Quota quota = request.quota();
        EXPECT_EQ(outcome(request) + " " + std::to_string(quota.remaining) + " " +
                      std::to_string(quota.until) + (quota.retry ? " later" : ""),
                  asked.told)
            << asked.why;
        EXPECT_LE(std::abs(quota.reset - reset_seconds(world.at()) - quota.until), 1);
        request.is_admitted() ? request.end() : void();
    }
}

INSTANTIATE_TEST_SUITE_P(Each, ResetOfABucket,
                         testing::Values(Way{"redis", {"default", "1r/m", "charge_refund", 4}},
                                         Way{"lease", {"default", "1r/m", "lease", 4}},
                                         Way{"local", {"default", "1r/m", "charge_refund", 4, "local"}}));

/// Three machines, two of whose clocks differ by ten seconds.
class BucketsOfThree : public testing::Test {
protected:
    explicit BucketsOfThree(LimitSetup limit) : world(std::move(limit), 60'000) {
        world.machine(1).clock().stepped = 10'000'000;
        world.machine(2).clock().stepped = -10'000'000;
    }

    OneMachine world;
    Calls calls{world.primary};
};

class RetryAfter : public BucketsOfThree, public testing::WithParamInterface<Way> {
protected:
    RetryAfter() : BucketsOfThree(GetParam().limit) {}
};

/// Whoever comes again, wherever, passes then, and does not a second before.
TEST_P(RetryAfter, IsWhenTheSameRequestPasses) {
    const std::int64_t cost = GetParam().limit.name == "one" ? 1 : GetParam().limit.burst == 6 ? 5 : 350;
    const std::size_t machines = GetParam().limit.store == "local" ? 1 : 3;
    Millis since = 0;
    std::int64_t wait = 0;
    ASSERT_TRUE(world.until([&] {
        since = world.at();
        ClientRequest& request = world.begin({"k", cost});
        world.until([&request] { return request.is_decided(); });
        request.is_admitted() ? request.end() : void();
        wait = request.is_admitted() ? 0 : request.quota().until;
        return wait > 1;
    }));
    std::string decided;
    for (std::size_t i = 0; (decided = world.ask({"k", cost}, &world.worker(0, i % machines))) == "REJECTED";
         ++i) {
        ASSERT_LE(world.at(), since + wait * 1'000 + 50);
        world.pass(10);
    }
    EXPECT_EQ(decided, "PASSED");
    EXPECT_GE(world.at(), since + wait * 1'000 - 1'000);
}

INSTANTIATE_TEST_SUITE_P(Each, RetryAfter,
                         testing::Values(Way{"local", {"one", "10r/25s", "charge_refund", 1, "local"}},
                                         Way{"local, a cost", {"cost", "2r/s", "charge_refund", 6, "local"}},
                                         Way{"redis", {"one", "10r/25s", "charge_refund", 1}},
                                         Way{"redis, a cost", {"cost", "2r/s", "charge_refund", 6}},
                                         Way{"lease", {"cost", "100r/s", "lease", 2'000}}));

class Waves : public BucketsOfThree {
protected:
    Waves() : BucketsOfThree({"default", "1r/m", "charge_refund", 20}) {
        world.setup.limits.push_back({"n", "1r/m", "charge_refund", 10});
        for (std::size_t i = 0; i < 3; ++i) {
            world.worker(0, i);
        }
    }

    /// Each machine knows the bucket, and the time of Redis.
    void get_to_know(const RequestSetup& what) {
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(world.ask(what, &world.worker(0, i)), "PASSED");
        }
    }

    /// How many of 150 requests to each of so many machines pass, which come while Redis does not answer.
    std::size_t pass(std::size_t machines, const RequestSetup& what) {
        world.primary.pause();
        Requests all;
        for (std::size_t i = 0; i < 150 * machines; ++i) {
            all.push_back(&world.begin(what, &world.worker(0, i % machines)));
        }
        world.pass(50);
        world.primary.resume();
        world.pass(50);
        std::size_t passed = 0;
        for (ClientRequest* request : all) {
            EXPECT_EQ(outcome(*request), request->is_admitted() ? "PASSED" : "REJECTED");
            passed += request->is_admitted() ? 1 : 0;
            request->is_admitted() ? request->end() : void();
        }
        return passed;
    }
};

TEST_F(Waves, TakeWhatIsThereOnce) {
    for (const std::size_t machines : {1, 3}) {
        for (int round = 0; round < 3; ++round) {
            const RequestSetup what =
                RequestSetup("k" + std::to_string(machines * 10 + round)).under({"default"});
            get_to_know(what);
            EXPECT_EQ(pass(machines, what), 17U);
            EXPECT_EQ(pass(machines, what), 0U);
        }
    }
    EXPECT_GE(calls["bitfield"], 17U) << "plain commands took it";
}

/// A limit of a larger burst shares the bucket, and has taken more than the smaller one has.
TEST_F(Waves, OfASmallerBurstTakeNothingOfWhatTheyReject) {
    const RequestSetup what = RequestSetup("k").under({"n"});
    get_to_know(what);
    world.setup.limits.back().burst = 100;
    world.reload(1);
    EXPECT_EQ(world.ask(RequestSetup("k", 30).under({"n"}), world.machine(1).workers().back().get()),
              "PASSED");
    const std::int64_t before = world.until_full(world.primary, "rl:n/60b:k");
    EXPECT_EQ(pass(1, what), 0U);
    world.pass(1'000);
    EXPECT_LE(world.until_full(world.primary, "rl:n/60b:k"), before);
}

/// A machine asks ever more seldom about a bucket that is empty, while nothing goes back to it.
class EmptyBucket : public testing::Test {
protected:
    /// Sends three requests here in each of so many seconds, or until one passes.
    void pass_seconds(int count) {
        passed.clear();
        asked.clear();
        for (int i = 0; i < count && passed.empty(); ++i) {
            ++second;
            world.pass(static_cast<Msec>(begun + second * 1'000 - world.at()));
            const std::size_t before = calls["evalsha"];
            for (std::size_t n = 0; n < 3; ++n) {
                ClientRequest& request = world.begin("k", &world.worker(n % 2));
                world.pass(2);
                if (outcome(request) == "PASSED") {
                    passed.push_back(second);
                    request.end();
                }
            }
            asked.insert(asked.end(), calls["evalsha"] - before, second);
        }
    }

    using Seconds = std::vector<int>;

    OneMachine world{{"default", "1r/h", "charge_refund", 3}};
    Calls calls{world.primary};
    Seconds passed;
    Seconds asked;
    int second = 0;
    Millis begun = world.at();
};

TEST_F(EmptyBucket, IsAskedAboutMoreAndMoreRarely) {
    ClientRequest& open = world.begin("k", &world.worker(0, 1));
    world.pass(5);
    pass_seconds(1);
    EXPECT_EQ(passed, (Seconds{1, 1}));
    pass_seconds(60);
    EXPECT_EQ(passed, Seconds{});
    EXPECT_EQ(asked, (Seconds{2, 4, 8, 16, 26, 36, 46, 56}));
    open.end(true);
    pass_seconds(20);
    EXPECT_EQ(passed, Seconds{66}) << "what goes back elsewhere is heard of ten seconds after that";
    pass_seconds(16);
    EXPECT_EQ(passed, Seconds{});
    EXPECT_EQ(asked, (Seconds{67, 69, 73, 81})) << "from then on it is asked about often again";
    world.remove("rl:default/3600b:k");  // as an operator's reset does
    pass_seconds(20);
    EXPECT_EQ(passed, (Seconds{91, 91})) << "the first has asked";
}

/// Buckets and running requests go by the machine's clock where scripts may not ask for the time.
TEST(BucketsWithoutTime, GoByTheClocksOfMachinesUntilTheRightIsThere) {
    OneMachine world({"default", "100r/h", "charge_refund", 20});
    world.setup.limits.push_back({"lease", "100r/s", "lease", 2'000});
    world.setup.limits.push_back({"slots", "2", "check_charge", 0, "main", lease_auto, "first", true});
    world.setup.on_error = OnError::deny;
    world.primary.server().state.forbidden = {"time"};
    const RequestSetup bucket = RequestSetup("k").under({"default"});
    EXPECT_EQ(world.admitted(21, bucket), 20U);
    ClientRequest& elsewhere = world.begin(bucket, &world.worker(0, 1));
    world.pass(5);
    EXPECT_EQ(elsewhere.quota().used, 20);
    EXPECT_EQ(elsewhere.quota().until, 36);
    EXPECT_EQ(world.admitted(100, RequestSetup("k").under({"lease"})), 100U);
    const RequestSetup slots = RequestSetup("k").under({"slots"});
    ClientRequest& first = world.begin(slots);
    ClientRequest& second = world.begin(slots, &world.worker(0, 1));
    world.pass(5);
    EXPECT_TRUE(first.is_admitted() && second.is_admitted());
    EXPECT_EQ(world.ask(slots), "REJECTED");
    first.end();
    EXPECT_TRUE(world.until([&] { return world.ask(slots) == "PASSED"; }));
    world.machine(1).clock().stepped = 36'000'000;
    EXPECT_TRUE(world.until([&] { return world.ask(bucket, &world.worker(0, 1)) == "PASSED"; }, 2'000))
        << "a clock that is ahead refills it";
    EXPECT_EQ(world.logged("does not let scripts call TIME: token buckets and running requests count by the "
                           "clocks of the machines, which must agree; give the user \\+time"),
              2U)
        << "each machine says so once";
    world.primary.server().state.forbidden.clear();
    world.primary.reset_connections();
    const RequestSetup later = RequestSetup("later").under({"default"});
    EXPECT_TRUE(world.until([&] { return world.ask(later, &world.worker(0, 1)) == "PASSED"; }));
    EXPECT_EQ(world.admitted(21, later), 19U);
    world.machine(1).clock().stepped = 7'200'000'000;
    EXPECT_EQ(world.ask(later, &world.worker(0, 1)), "REJECTED") << "the server's time counts again";
}

}  // namespace
}  // namespace rate_limit::world::buckets_test
