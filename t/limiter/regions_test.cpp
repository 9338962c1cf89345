// One limit over regions: each machine reads the window in all of them, and charges the primary of its own.

#include "t/limiter/regions.h"

#include "t/limiter/poster.h"

namespace rate_limit::world::regions_test {
namespace {

TEST_F(Regions, ChargeAtHomeAndReadEverywhere) {
    charge(0, 30);
    charge(1, 20);
    EXPECT_EQ(stored(0), 30);
    EXPECT_EQ(stored(1), 20);
    world.pass(1'000);
    EXPECT_EQ(check(0), "PASSED 50");
    EXPECT_EQ(check(1), "PASSED 50");
    EXPECT_EQ(remembered(0, 1), 0U);
}

TEST_F(Regions, RejectByWhatAllHaveUsed) {
    charge(0, 40);
    charge(1, 60);
    world.pass(1'000);
    EXPECT_EQ(check(0), "REJECTED 100");
    EXPECT_EQ(check(1), "REJECTED 100");
    EXPECT_EQ(check(0, "other"), "PASSED 0");
}

TEST_F(Regions, RejectWhereNothingWasUsedHere) {
    charge(1, 130);
    ClientRequest& request = begin(0);
    world.until([&request] { return request.is_decided(); });
    EXPECT_EQ(shown(request), "REJECTED 130");
    EXPECT_EQ(request.quota(0).remaining, 0);
    EXPECT_EQ(request.verdicts()[0].window.reset, (world.at() / 3'600'000 + 1) * 3'600'000);
    EXPECT_EQ(stored(0), 0);
    const std::uint64_t asked = reads(1);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(check(0), "REJECTED 130");
        world.pass(5);
    }
    EXPECT_EQ(reads(1), asked) << "memory knows it";
}

/// While a primary's answer to a charge, and those of all other regions, are young enough.
TEST_F(Regions, AskNobodyWhileAllAreFresh) {
    charge(0, 1);
    const std::uint64_t asked = reads(1);
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(source(0), "memory");
        world.pass(100);
    }
    EXPECT_EQ(reads(1), asked);
    charge(0, 1);
    world.pass(200);
    EXPECT_EQ(source(0), "replica") << "the home window is fresh, and what is known of the other one is not";
    EXPECT_GT(reads(1), asked);
}

TEST_F(Regions, WriteNothingElsewhereAndConnectToNoOtherPrimary) {
    charge(0, 3);
    charge(1, 4);
    EXPECT_EQ(regions[1].replica->used("rl:default/3600c:k"), 4);
    EXPECT_EQ(stored(0) + stored(1), 7);
    EXPECT_EQ(world.logged("READONLY"), 0U);
    regions[0].primary->link().silent = true;
    world.pass(1'500);
    EXPECT_EQ(check(1), "PASSED 7") << "by the replica";
}

/// It counts as it was last read; the request waits check_timeout once, and later ones do not wait.
TEST_F(Regions, RememberARegionThatDoesNotAnswer) {
    charge(1, 60);
    EXPECT_EQ(check(0), "PASSED 60");
    cut(1);
    world.pass(1'500);
    ClientRequest& first = begin(0);
    world.until([&first] { return first.is_decided(); });
    EXPECT_EQ(first.store_time(), 100U) << "check_timeout";
    EXPECT_EQ(decided_by(first.applied(0)), "memory");
    EXPECT_EQ(shown_exempt(first), "PASSED 60");
    EXPECT_EQ(remembered(0, 1), 1U);
    world.pass(20);
    ClientRequest& second = begin(0);
    world.until([&second] { return second.is_decided(); });
    EXPECT_LT(second.store_time(), 5U) << "it is known not to answer";
    EXPECT_EQ(shown_exempt(second), "PASSED 60");
    EXPECT_EQ(remembered(0, 1), 2U);
    EXPECT_EQ(world.logged("region \"r1\" of \"main\", shard \"a\", does not answer, and counts as it was "
                           "last read: no answer in check_timeout"),
              1U);
    EXPECT_EQ(check(0, "unknown"), "PASSED 0") << "of which nothing was read";
    mend(1);
    world.pass(5'000);
    EXPECT_EQ(source(0), "replica");
    EXPECT_EQ(world.logged("region \"r1\" of \"main\", shard \"a\", answers again after"), 1U);
}

/// Its replica is farther than check_timeout: each request counts what the answer to an earlier one has told.
TEST_F(Regions, RememberAnswersThatComeLate) {
    Path& path = world.network.path(0, address(1, false));
    path.there = path.back = 80'000;
    charge(1, 60);
    world.pass(1'500);
    EXPECT_EQ(check(0), "PASSED 0");
    world.pass(100);
    ClientRequest& request = begin(0);
    world.until([&request] { return request.is_decided(); });
    EXPECT_EQ(request.store_time(), 100U) << "check_timeout";
    EXPECT_EQ(decided_by(request.applied(0)), "memory");
    EXPECT_EQ(shown_exempt(request), "PASSED 60");
    charge(1, 40);
    world.pass(1'500);
    EXPECT_EQ(check(0), "PASSED 60");
    world.pass(100);
    EXPECT_EQ(check(0), "REJECTED 100");
    EXPECT_EQ(world.logged("no answer in check_timeout: let that be longer than the way there and back"), 1U);
}

class RegionsOfAMinute : public Regions {
    void SetUp() override { start(2, "100r/m"); }
};

TEST_F(RegionsOfAMinute, AreRejectedByWhatWasLastRead) {
    world.pass(60'000 - static_cast<Msec>(world.at() % 60'000));
    charge(1, 60);
    charge(0, 40);
    cut(1);
    world.pass(1'500);
    EXPECT_EQ(check(0), "REJECTED 100");
    world.pass(60'000);
    EXPECT_EQ(check(0), "PASSED 0") << "the next window";
}

/// An error of the region here is one, as without regions.
TEST_F(Regions, FailWithTheRegionHere) {
    charge(1, 60);
    regions[0].primary->kill(true);
    world.pass(1'000);
    EXPECT_EQ(check(0), "ERROR_ALLOWED");
    EXPECT_EQ(world.ask(RequestSetup("k").or_else(OnError::deny), &world.worker(0, 0)), "ERROR_DENIED");
    EXPECT_EQ(world.ask(RequestSetup("k").or_else(OnError::local), &world.worker(0, 0)), "ERROR_LOCAL");
}

/// Costs that were charged elsewhere may be given back there: that is known when memory is confirmed.
TEST_F(Regions, ConfirmWhatOthersHaveUsed) {
    charge(1, 100);
    world.pass(1'000);
    EXPECT_EQ(check(0), "REJECTED 100");
    regions[1].primary->lose_data(nullptr);
    const Millis lost = world.at();
    std::string outcome;
    EXPECT_TRUE(world.until(
        [&] {
            outcome = check(0);
            return outcome != "REJECTED 100";
        },
        11'000));
    EXPECT_EQ(outcome, "PASSED 0");
    EXPECT_LE(world.at() - lost, 10'500);
}

TEST_F(Regions, SeeWhatIsGivenBackElsewhereWithinSeconds) {
    store(0).fresh = 0;
    charge(1, 40);
    world.pass(1'000);
    EXPECT_EQ(check(0), "PASSED 40");
    regions[1].primary->lose_data(nullptr);
    regions[1].replica->lose_data(nullptr);
    EXPECT_EQ(check(0), "PASSED 40") << "the replica may lag";
    world.pass(1'900);
    EXPECT_EQ(check(0), "PASSED 40");
    world.pass(200);
    EXPECT_EQ(check(0), "PASSED 0");
}

/// The memory of the one is not taken for the use of the other.
TEST_F(Regions, AreOthersAfterAReloadThatMovesTheMachine) {
    charge(0, 6);
    world.machine(0).configure(world.setups[1]);
    world.reload(0);
    world.pass(1'000);
    WorkerProcess& moved = *world.machine(0).workers().back();
    ClientRequest& request = world.begin("k", &moved);
    world.pass(100);
    EXPECT_EQ(shown(request), "PASSED 7");
    request.end();
    world.pass(100);
    EXPECT_EQ(stored(1), 1);
    EXPECT_EQ(stored(0), 6);
}

TEST_F(Regions, CountRequestsInFlightHere) {
    charge(0, 49);
    charge(1, 50);
    world.pass(1'500);
    ClientRequest& request = begin(0);
    world.until([&request] { return request.is_decided(); });
    EXPECT_EQ(shown(request), "PASSED 100");
    EXPECT_EQ(check(0), "REJECTED 99") << "as stored, with one in flight";
    request.end();
    world.pass(100);
    EXPECT_EQ(stored(0), 50);
}

/// A replica that the configuration gives to another region than its primary's.
TEST_F(Regions, CountNoRegionTwice) {
    regions[1].replica->server().state.replication_id = id(0);
    charge(0, 30);
    charge(1, 20);
    world.pass(1'500);
    EXPECT_EQ(check(0), "PASSED 30");
    EXPECT_EQ(source(0), "memory");
    EXPECT_EQ(
        world.logged(
            "replica 10.1.0.2:6379 of shard \"a\" of \"main/r1\" is down: what it counts is "
            "counted in another region, too.*[(]by primary 10.0.0.1:6379 of shard \"a\" of \"main\"[)]"),
        1U);
    regions[1].replica->server().state.replication_id = id(1);
    world.pass(5'000);
    EXPECT_EQ(check(0), "PASSED 50") << "it follows its own primary now";
    EXPECT_EQ(source(0), "replica");
}

/// The server here is connected later than that of the other region.
/// Replicas change their primary without ending their connections.
TEST_F(Regions, NoticeWhichPrimaryAReplicaFollowsLater) {
    charge(0, 30);
    charge(1, 20);
    world.pass(1'000);
    EXPECT_EQ(check(0), "PASSED 50");
    regions[1].replica->server().state.replication_id = id(0);
    world.pass(12'000);
    EXPECT_EQ(source(0), "memory");
    EXPECT_EQ(
        world.logged("replica 10.1.0.2:6379 of .*is down: what it counts is counted in another region, too"),
        1U);
    regions[1].replica->server().state.replication_id = id(1);
    world.pass(12'000);
    EXPECT_EQ(source(0), "replica");
    EXPECT_EQ(check(0), "PASSED 50");
}

/// The replica here is the wrong one, and the right one of the other region gives way until that is mended.
TEST_F(Regions, ReadAgainWhenTheOtherServerHasItsOwnDataAgain) {
    charge(1, 20);
    world.pass(1'000);
    regions[0].primary->server().state.replication_id = id(1);
    world.pass(12'000);
    EXPECT_EQ(source(0), "memory");
    regions[0].primary->server().state.replication_id = id(0);
    world.pass(25'000);
    EXPECT_EQ(source(0), "replica");
}

TEST_F(Regions, AskNoReplicaThatHasNothingSinceItsStart) {
    charge(1, 20);
    world.pass(1'000);
    EXPECT_EQ(check(0), "PASSED 20");
    regions[1].replica->kill(true);
    regions[1].replica->lose_data(nullptr);
    regions[1].replica->server().state.link_up = false;
    regions[1].replica->server().state.synced = false;
    world.pass(1'000);
    regions[1].replica->start();
    world.pass(10'000);
    EXPECT_EQ(check(0), "PASSED 20");
    EXPECT_EQ(source(0), "memory");
    EXPECT_GE(
        world.logged("replica 10.1.0.2:6379 of .*it has had nothing of its primary since it was started"),
        1U);
}

TEST_F(Regions, UseTheServersHereOfTwoWithTheSameData) {
    charge(0, 30);
    charge(1, 20);
    world.pass(1'500);
    EXPECT_EQ(check(0), "PASSED 50");
    regions[0].primary->kill(true);
    regions[0].primary->server().state.replication_id = id(1);
    world.pass(1'000);
    regions[0].primary->start();
    world.pass(5'000);
    EXPECT_EQ(source(0), "memory");
    EXPECT_EQ(world.logged("replica 10.1.0.2:6379 of shard \"a\" of \"main/r1\" is down: what it counts"),
              1U);
    EXPECT_EQ(world.logged("of \"main\" is down: what it counts"), 0U);
}

TEST_F(Regions, TellOnceOfAPrimaryElsewhere) {
    regions[1].replica->server().state.role = ServerRole::primary;
    charge(1, 20);
    world.pass(1'500);
    EXPECT_EQ(check(0), "PASSED 20") << "it is read all the same";
    regions[1].replica->kill(true);
    regions[1].replica->start();
    world.pass(5'000);
    EXPECT_EQ(check(0), "PASSED 20") << "connected again";
    EXPECT_EQ(world.logged("replica 10.1.0.2:6379 of shard \"a\" of \"main/r1\" is a primary: .*replica="),
              1U);
}

class RegionsWithoutMemory : public Regions {
    void SetUp() override {
        start(2, "1000000r/h");
        store(0).fresh = 0;
    }
};

/// No other mode is to be had there.
TEST_F(RegionsWithoutMemory, TellWhatToDoAboutHotKeys) {
    std::vector<ClientRequest*> open;
    for (int i = 0; i < 12'000; ++i) {
        open.push_back(&begin(0, "hot"));
        if (open.size() == 64) {
            world.pass(5);
            for (ClientRequest* request : open) {
                request->end();
            }
            open.clear();
        }
    }
    world.pass(65'000);
    for (const char* name : {"main", "main/r1"}) {
        EXPECT_EQ(world.logged("one key makes .* to shard \"a\" of \"" + std::string(name) +
                               "\", id [0-9a-f]{16}: a longer \"fresh\" asks less"),
                  1U)
            << name;
    }
}

TEST_F(Regions, HaveCountersOfTheirServersInTheLog) {
    EXPECT_EQ(check(0), "PASSED 0");
    regions[1].replica->kill(true);
    world.pass(70'000);
    EXPECT_EQ(world.logged("counters of \"main/r1\" since .*replica 10.1.0.2:6379: connection"), 1U);
    EXPECT_EQ(world.logged("counters of \"main/r1\" since .*primary "), 0U);
}

class ThreeRegions : public Regions {
    void SetUp() override { start(3, "1000r/h"); }
};

TEST_F(ThreeRegions, CountNoOtherOneTwice) {
    regions[2].replica->server().state.replication_id = id(1);
    charge(0, 100);
    charge(1, 10);
    charge(2, 10);
    world.pass(1'500);
    EXPECT_EQ(check(0), "PASSED 110");
    EXPECT_EQ(source(0), "memory");
    EXPECT_EQ(world.logged("is down: what it counts is counted in another region.* of \"main/r[12]\""), 1U);
}

class ManyRegions : public Regions {
    void SetUp() override { start(5, "1000r/h"); }
};

TEST_F(ManyRegions, AreAddedUp) {
    for (std::size_t i = 0; i < 5; ++i) {
        charge(i, 100 + static_cast<std::int64_t>(i));
    }
    world.pass(1'500);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(check(i), "PASSED 510");
    }
}

/// The answers of all regions are waited for together, not one after the other.
TEST_F(ManyRegions, AreAskedAtTheSameTime) {
    for (std::size_t i = 1; i < 5; ++i) {
        Path& path = world.network.path(0, address(i, false));
        path.there = path.back = static_cast<Micros>(i) * 10'000;
    }
    world.worker(0, 0);
    world.pass(2'000);
    ClientRequest& request = begin(0);
    world.until([&request] { return request.is_decided(); });
    EXPECT_EQ(request.store_time(), 80U);
    EXPECT_EQ(decided_by(request.applied(0)), "replica");
}

TEST_F(Regions, AreShownToOperatorsAndResetHereAlone) {
    charge(0, 30);
    charge(1, 20);
    SeenWindow seen = act(world, "limit=default&key=k").limits.front().windows.front();
    EXPECT_EQ(seen.used, 50);
    EXPECT_EQ(seen.remaining, 50);
    ASSERT_EQ(seen.regions.size(), 2U);
    EXPECT_EQ(seen.regions[0].name, "r0");
    EXPECT_EQ(seen.regions[0].used, 30);
    EXPECT_TRUE(seen.regions[0].here);
    EXPECT_EQ(seen.regions[1].name, "r1");
    EXPECT_EQ(seen.regions[1].used, 20);
    EXPECT_TRUE(seen.regions[1].told);
    world.pass(1'500);
    EXPECT_EQ(check(0), "PASSED 50");
    seen = act(world, "do=reset&limit=default&key=k").limits.front().windows.front();
    EXPECT_EQ(seen.regions[0].used, 0);
    EXPECT_EQ(seen.used, 20);
    EXPECT_EQ(stored(0), 0);
    EXPECT_EQ(stored(1), 20);
    EXPECT_EQ(world.logged("reset in .*: 30 used, now 0, of region \"r0\" alone"), 1U);
    cut(1);
    world.pass(1'500);
    seen = act(world, "limit=default&key=k").limits.front().windows.front();
    EXPECT_EQ(seen.used, 20) << "as last read";
    EXPECT_FALSE(seen.regions[1].told);
}

TEST(RegionsOfUnfitLimits, AreRefused) {
    const auto refusal = [](LimitSetup limit) -> std::string {
        Scenario world(std::move(limit));
        StoreSetup& store = world.setup.stores.front();
        store.here = "eu";
        store.elsewhere = {{"us", {{"a", "", {Scenario::replica_address}}}}};
        try {
            world.worker();
            return "";
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
    };
    const auto with = [](auto change) {
        LimitSetup limit{"default", "10r/m"};
        limit.window = "clock";
        change(limit);
        return limit;
    };
    EXPECT_EQ(refusal(with([](LimitSetup&) {})), "");
    EXPECT_EQ(refusal(with([](LimitSetup& limit) {
                  limit.window = "local";
                  limit.rate = "10r/d";
              })),
              "");
    EXPECT_NE(refusal(with([](LimitSetup& limit) { limit.window = "first"; })).find("window=clock"),
              std::string::npos);
    for (const char* mode : {"lease", "charge_refund"}) {
        EXPECT_NE(refusal(with([mode](LimitSetup& limit) { limit.mode = mode; })).find("mode=check_charge"),
                  std::string::npos);
    }
    EXPECT_NE(refusal(with([](LimitSetup& limit) { limit.penalty = 1000; })).find("penalty="),
              std::string::npos);
    EXPECT_NE(refusal(with([](LimitSetup& limit) {
                  limit.mode = "charge_refund";
                  limit.window = "first";
                  limit.burst = 5;
              })).find("burst="),
              std::string::npos);
    EXPECT_NE(refusal(with([](LimitSetup& limit) {
                  limit.running = true;
                  limit.window = "first";
                  limit.rate = "5";
              })).find("requests that run"),
              std::string::npos);
}

}  // namespace
}  // namespace rate_limit::world::regions_test
