// Once a key is rejected by a limit with a penalty it stays rejected for that time, on all machines: what
// begins a penalty, who learns of it, and what ends it, in all modes.

#include <ostream>
#include <string>
#include <vector>

#include "limiter/request/decisions.h"
#include "limiter/request/report.h"
#include "limiter/zone.h"
#include "operator/acts/acting.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/poster.h"
#include "t/limiter/way.h"

namespace rate_limit::world::penalties_test {
namespace {

/// A minute's penalty of a limit of three, of which a few seconds later everything is there again.
LimitSetup punishing(LimitSetup limit, Millis penalty = 60'000) {
    limit.penalty = penalty;
    return limit;
}

const std::vector<Way> ways = {
    {"check_charge", {"default", "3r/10s", "check_charge"}},
    {"charge_refund", {"default", "3r/10s", "charge_refund"}},
    {"lease", {"default", "3r/10s", "lease"}},
    {"lease of 2", {"default", "3r/10s", "lease", 0, "main", 2}},
    {"check_charge, by the clock", {"default", "3r/10s", "check_charge", 0, "main", lease_auto, "clock"}},
    {"bucket, charge_refund", {"default", "1r/3s", "charge_refund", 3}},
    {"bucket, lease", {"default", "1r/3s", "lease", 3}},
    {"check_charge, local", {"default", "3r/10s", "check_charge", 0, "local"}},
    {"charge_refund, local", {"default", "3r/10s", "charge_refund", 0, "local"}},
    {"bucket, local", {"default", "1r/3s", "charge_refund", 3, "local"}},
};

class Penalties : public testing::TestWithParam<Way> {
protected:
    explicit Penalties(Millis penalty = 60'000) : world(punishing(GetParam().limit, penalty)) {}

    OneMachine world;

    bool is_local() const { return GetParam().limit.store == "local"; }
    bool is_bucket() const { return GetParam().limit.burst != 0; }
    bool charges_before() const { return GetParam().limit.mode != "check_charge"; }

    /// The machine's worker; after a reload the one that has come.
    WorkerProcess& at(std::size_t machine) {
        (void)world.worker(0, machine);
        return *world.machine(machine).workers().back();
    }

    /// One request of some milliseconds, at a machine's first worker.
    ClientRequest& ask(std::size_t machine = 0, const std::string& key = "client", Msec time = 20) {
        ClientRequest& request = world.begin(key, &at(machine));
        world.pass(time);
        if (request.is_admitted()) {
            request.end();
            world.pass(time);
        }
        return request;
    }

    std::string decided(std::size_t machine = 0, const std::string& key = "client") {
        return outcome(ask(machine, key));
    }

    /// Asks until the key is rejected. Returns that request.
    ClientRequest& use_up(std::size_t machine = 0) {
        for (int i = 0; i < 10; ++i) {
            ClientRequest& request = ask(machine);
            if (!request.is_admitted()) {
                return request;
            }
        }
        ADD_FAILURE() << "nothing is rejected";
        return ask(machine);
    }

    /// An operator gives the key a fresh allowance at this machine.
    void reset(std::size_t machine = 0, const std::string& posted = "do=reset&limit=default&key=client") {
        const ActResult result = act(world, posted, &at(machine));
        EXPECT_EQ(result.error, ActError::none) << result.description;
    }
};

TEST_P(Penalties, RejectUntilTheyEnd) {
    const ClientRequest& first = use_up();
    EXPECT_NEAR(static_cast<double>(first.quota().until), 60, 1);
    EXPECT_TRUE(first.applied(0).penalty->begun);
    const Millis until = first.applied(0).penalty->until;
    world.pass(30'000);
    const std::uint64_t commands = world.primary.server().commands();
    const ClientRequest& later = ask();
    EXPECT_EQ(outcome(later), "REJECTED") << "though the window has ended, or the bucket is full";
    EXPECT_EQ(later.quota().remaining, 0);
    EXPECT_EQ(later.quota().reset, reset_seconds(until)) << "it is not prolonged";
    EXPECT_EQ(later.waited(), 0U) << "by memory";
    EXPECT_LE(world.primary.server().commands() - commands, 3U)
        << "at most one question that nobody waits for";
    world.pass(until - world.at() - 100);
    EXPECT_EQ(decided(), "REJECTED");
    world.pass(until - world.at());
    EXPECT_EQ(decided(), "PASSED");
}

TEST_P(Penalties, RejectOnAllMachines) {
    const Millis until = use_up().applied(0).penalty->until;
    world.pass(30'000);
    const std::string elsewhere = decided(1);
    EXPECT_EQ(elsewhere, is_local() ? "PASSED" : "REJECTED");
    if (!is_local()) {
        EXPECT_EQ(ask(1).quota().reset, reset_seconds(until));
        EXPECT_EQ(ask(1).waited(), 0U) << "by its memory";
        world.pass(until - world.at());
        EXPECT_EQ(decided(1), "PASSED");
    }
}

TEST_P(Penalties, AreOfOneKey) {
    use_up();
    EXPECT_EQ(decided(0, "other"), "PASSED");
}

TEST_P(Penalties, AreNotReadByALimitWithout) {
    use_up();
    world.setup.limits.front().penalty = 0;
    world.reload();
    world.pass(30'000);
    EXPECT_EQ(decided(0), "PASSED") << "in the same window, and the same memory";
    EXPECT_EQ(decided(1), "PASSED");
}

TEST_P(Penalties, OutliveOthersWindows) {
    const Millis until = use_up().applied(0).penalty->until;
    world.setup.limits.front().penalty = 0;
    for (int i = 0; i < 3; ++i) {
        world.pass(9'500);
        EXPECT_NE(decided(1), "") << "opens windows, charges, gives back";
    }
    world.pass(until - world.at() - 5'000);
    world.setup.limits.front().penalty = 60'000;
    EXPECT_EQ(decided(2), is_local() ? "PASSED" : "REJECTED");
    EXPECT_EQ(decided(0), "REJECTED");
}

TEST_P(Penalties, DoNotBeginWhereRequestsThatRunFillTheLimit) {
    std::vector<ClientRequest*> running;
    for (int i = 0; i < 3; ++i) {
        running.push_back(&world.begin("client"));
        world.pass(20);
    }
    const ClientRequest& fourth = ask();
    EXPECT_EQ(outcome(fourth), "REJECTED");
    EXPECT_FALSE(fourth.applied(0).penalty->begun);
    for (ClientRequest* request : running) {
        EXPECT_TRUE(request->is_admitted());
        request->end(true);
        world.pass(20);
    }
    world.pass(1'200);
    EXPECT_EQ(decided(), "PASSED") << "nobody has used anything";
    use_up();
    world.pass(15'000);
    EXPECT_EQ(decided(), "REJECTED") << "and now it was used";
}

/// Requests that turn out free end while the answer to another one is on its way, which counts them.
TEST_P(Penalties, DoNotBeginWhereRequestsEndMeanwhile) {
    for (int late = 0; late < 12; ++late) {
        const std::string key = "late" + std::to_string(late);
        std::vector<ClientRequest*> all;
        for (int i = 0; i < 3; ++i) {
            all.push_back(&world.begin(key));
        }
        for (int tick = 0; tick < 40; ++tick) {
            if (tick == late) {
                all.push_back(&world.begin(key));
            }
            world.pass(1);
            for (ClientRequest* request : all) {
                if (request->is_admitted() && !request->settled) {
                    request->end(true);
                }
            }
        }
        world.pass(15'000);
        EXPECT_EQ(decided(0, key), "PASSED") << late;
    }
}

TEST_P(Penalties, BeginThoughOneOfThoseThatFillTheLimitRuns) {
    ClientRequest& running = world.begin("client");
    world.pass(20);
    EXPECT_EQ(decided(), "PASSED");
    EXPECT_EQ(decided(), "PASSED");
    EXPECT_EQ(ask().applied(0).penalty->begun, charges_before());
    EXPECT_TRUE(running.is_admitted());
    running.end(false);
}

TEST_P(Penalties, DoNotBeginInADryRun) {
    for (int i = 0; i < 6; ++i) {
        world.ask(RequestSetup("client").in_dry_run());
    }
    EXPECT_EQ(world.ask(RequestSetup("client").in_dry_run()), "REJECTED_DRY_RUN");
    world.pass(15'000);
    EXPECT_EQ(decided(), "PASSED");
    use_up();
    world.pass(15'000);
    EXPECT_EQ(world.ask(RequestSetup("client").in_dry_run()), "REJECTED_DRY_RUN")
        << "one that runs counts there";
}

TEST_P(Penalties, DoNotBeginForACostThatNeverFits) {
    if (!charges_before()) {
        return;
    }
    for (int i = 0; i < 2; ++i) {  // of a key that is new, and of one that is known
        EXPECT_EQ(world.ask(RequestSetup("client", 4)), "REJECTED");
        world.pass(100);
        EXPECT_EQ(decided(), "PASSED");
        world.pass(100);
    }
}

TEST_P(Penalties, EndByAReset) {
    use_up();
    reset();
    world.pass(100);
    EXPECT_EQ(decided(), "PASSED");
}

TEST_P(Penalties, EndByAResetThoughNoWindowIsOpen) {
    use_up();
    world.pass(30'000);
    EXPECT_EQ(decided(), "REJECTED");
    reset();
    world.pass(100);
    EXPECT_EQ(decided(), "PASSED");
}

TEST_P(Penalties, EndByAResetElsewhere) {
    if (is_local()) {
        return;
    }
    use_up();
    EXPECT_EQ(decided(1), "REJECTED");
    reset(1);
    world.pass(11'000);
    (void)decided();  // asks, and does not wait
    EXPECT_EQ(decided(), "PASSED");
}

TEST_P(Penalties, DoNotEndByWhatIsGivenBack) {
    use_up();
    reset(0, "do=add&cost=1&limit=default&key=client");
    world.pass(100);
    EXPECT_EQ(decided(), "REJECTED");
}

TEST_P(Penalties, AreKeptByAMachineWhoseStoreHasLostThem) {
    use_up();
    world.primary.lose_data(nullptr);
    world.pass(15'000);
    EXPECT_EQ(decided(), "REJECTED");
    world.pass(15'000);
    EXPECT_EQ(decided(), "REJECTED") << "the store was asked meanwhile";
}

TEST_P(Penalties, OutliveAReload) {
    use_up();
    world.reload();
    world.pass(30'000);
    EXPECT_EQ(decided(), "REJECTED");
}

TEST_P(Penalties, ReachAStoreThatWasAway) {
    if (is_local()) {
        return;
    }
    use_up();
    world.primary.lose_data(nullptr);
    world.pass(2'000);
    world.setup.on_error = OnError::local;
    world.reload();
    world.pass(70'000);
    for (int i = 0; i < 3; ++i) {
        decided();
    }
    world.primary.kill(true);
    world.pass(10);
    for (int i = 0; i < 5; ++i) {
        ask(0, "client", 300);
    }
    EXPECT_EQ(outcome(ask(0, "client", 300)), "REJECTED");
    world.primary.start();
    world.pass(10'000);
    EXPECT_EQ(decided(), "REJECTED") << "it tells the store now";
    world.pass(100);
    EXPECT_EQ(decided(1), "REJECTED");
}

TEST_P(Penalties, AreToldOnce) {
    const ClientRequest& first = use_up();
    std::string begun;
    world.worker().loop().turn([&] { begun = PenaltyBegin(first, first.applied(0)).text(); });
    EXPECT_TRUE(std::regex_match(begun, std::regex("rate limit \"default\" begins a penalty of 60 s, until "
                                                   "\\d+, id [0-9a-f]{16}")))
        << begun;
    const ClientRequest& later = ask();
    std::string rejected;
    world.worker().loop().turn([&] { rejected = Rejection(later, later.applied(0)).text(); });
    EXPECT_NE(rejected.find("rejects, by a penalty for "), std::string::npos) << rejected;
    EXPECT_EQ(
        world.worker().configuration().tallies->all().front().of<Penalizing>()->count(Penalizing::begun), 1U);
}

INSTANTIATE_TEST_SUITE_P(Each, Penalties, testing::ValuesIn(ways));

TEST(PenaltiesOfNoRate, DoNotBegin) {
    OneMachine world(punishing({"default", "0r/s", "check_charge", 0, "local"}));
    ClientRequest& request = world.begin("client");
    EXPECT_EQ(outcome(request), "REJECTED");
    EXPECT_EQ(request.applied(0).penalty, nullptr);
}

TEST(PenaltiesOfAHash, StandBesideTheWindow) {
    OneMachine world(punishing({"default", "1r/h", "charge_refund"}, 7'200'000));
    EXPECT_TRUE(world.admits("client"));
    EXPECT_FALSE(world.admits("client"));
    world.pass(100);
    Value* const value = world.primary.server().databases().front().find(stored_key("client"));
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(world.primary.used(stored_key("client")), 1);
    EXPECT_NEAR(static_cast<double>(value->expires), static_cast<double>(world.at(7'200'000)), 2'000)
        << "the key lives as long";
    world.pass(3'700'000);
    EXPECT_FALSE(world.admits("client"));
    EXPECT_NE(world.primary.server().databases().front().find(stored_key("client")), nullptr);
    world.pass(3'700'000);
    EXPECT_TRUE(world.admits("client"));
}

}  // namespace
}  // namespace rate_limit::world::penalties_test
