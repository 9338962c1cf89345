// A lease: tokens are spent in their window and under their limit alone, all of them, and what nobody spends
// goes back to the window that it came from, once.

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "t/limiter/calls.h"
#include "t/limiter/one_machine.h"

namespace rate_limit::world::leases_test {
namespace {

using Texts = std::vector<std::string>;
using Costs = std::vector<std::int64_t>;

/// The outcome, what the client is told to be used and to remain, and whether it may come again; its request
/// ends.
std::string shown(Scenario& world, ClientRequest& request) {
    world.until([&request] { return request.is_decided(); });
    const Quota quota = request.quota();
    request.is_admitted() ? request.end() : void();
    return outcome(request) + " " + std::to_string(quota.used) + " " + std::to_string(quota.remaining) +
           (quota.retry ? " later" : "");
}

class Leases : public testing::Test {
protected:
    explicit Leases(const std::string& rate = "100r/h", std::uint64_t batch = 50,
                    const char* window = "first")
        : world({"default", rate, "lease", 0, "main", batch, window}, 20'000) {}

    std::string shown(const RequestSetup& what) {
        ClientRequest& request = world.begin(what);
        std::string text = leases_test::shown(world, request);
        last_reset = request.applied(0).verdict.window.reset;
        return text;
    }

    /// How many of so many requests pass.
    std::size_t passes(std::size_t count, const RequestSetup& what = "k") {
        return world.admitted(count, what);
    }

    /// A reload changes the limit.
    void limit_to(const std::string& rate) {
        world.setup.limits.front().rate = rate;
        world.reload();
        world.pass(1);
        world.end_leaving();
    }

    std::int64_t stored(const std::string& key = "k", const std::string& period = "3600") {
        return world.primary.used(stored_key(key, period));
    }

    OneMachine world;
    Calls calls{world.primary};
    Millis last_reset = 0;  // of the window that shown() was told
};

class PartsOfBatches : public testing::TestWithParam<std::uint64_t> {};

/// One after the other: every cost that fits passes, as in charge_refund.
TEST_P(PartsOfBatches, CountTogetherWithWhatIsLeft) {
    OneMachine world({"lease", "10r/h", "lease", 0, "main", GetParam()});
    world.setup.limits.push_back({"refund", "10r/h", "charge_refund"});
    const auto shown = [&world](const std::string& key, std::int64_t cost, const char* limit) {
        return leases_test::shown(world, world.begin(RequestSetup(key, cost).under({limit})));
    };
    int number = 0;
    for (const Costs& costs : {Costs(12, 1),
                               {3, 3, 3, 3, 3, 1, 1, 1},
                               {3, 1, 3, 3, 1, 1},
                               {1, 1, 3, 3, 3, 3, 1, 1},
                               {4, 7, 5, 1, 10, 2},
                               {11, 10, 1}}) {
        const std::string key = "k" + std::to_string(++number);
        for (const std::int64_t cost : costs) {
            EXPECT_EQ(shown(key, cost, "lease"), shown(key, cost, "refund")) << key << ", " << cost;
        }
    }
    std::vector<ClientRequest*> all;
    std::int64_t passed = 0;
    for (int i = 0; i < 40; ++i) {
        all.push_back(&world.begin(RequestSetup("parallel", i % 3 != 0 ? 1 : 3).under({"lease"})));
    }
    world.pass(50);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(outcome(*all[i]), all[i]->is_admitted() ? "PASSED" : "REJECTED");
        passed += all[i]->is_admitted() ? i % 3 != 0 ? 1 : 3 : 0;
        all[i]->is_admitted() ? all[i]->end() : void();
    }
    EXPECT_EQ(passed, 10) << "at the same time";
    EXPECT_EQ(shown("left", 9, "lease"), "PASSED 9 1");
    EXPECT_EQ(shown("left", 3, "lease"), "REJECTED 9 0 later");
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.primary.used(stored_key("left", "3600", "lease")), 9)
        << "what nobody could use goes back";
}

INSTANTIATE_TEST_SUITE_P(Each, PartsOfBatches, testing::Values(1, 4, 7, 100, lease_auto));

class BatchesOfFour : public Leases {
protected:
    BatchesOfFour() : Leases("10r/h", 4) {}
};

TEST_F(BatchesOfFour, AreSpentWithWhatIsFetchedBesides) {
    EXPECT_EQ(shown({"k", 3}), "PASSED 3 7");
    EXPECT_EQ(stored(), 4) << "one is at hand";
    EXPECT_EQ(shown({"k", 3}), "PASSED 6 4");
    EXPECT_EQ(stored(), 8) << "two are";
    EXPECT_EQ(shown({"k", 4}), "PASSED 10 0") << "neither this machine nor Redis has enough alone";
    EXPECT_EQ(stored(), 10);
}

TEST_F(Leases, NoticeWhatAnOperatorDoesWhenThePrimaryIsAskedNext) {
    const auto asks_until_admitted = [this] {
        const std::size_t before = calls["evalsha"];
        std::string said;
        EXPECT_TRUE(world.until([&] { return (said = shown("k")).rfind("PASSED", 0) == 0; }));
        EXPECT_LE(calls["evalsha"] - before, 3U);
        return said;
    };
    EXPECT_EQ(passes(105), 100U);
    EXPECT_EQ(stored(), 100);
    world.remove(stored_key("k"));
    EXPECT_EQ(asks_until_admitted(), "PASSED 1 99") << "a deleted window";
    EXPECT_EQ(passes(104), 99U);
    world.put_window(stored_key("k"), 40, world.primary.window(stored_key("k")).reset);
    EXPECT_EQ(asks_until_admitted(), "PASSED 41 59") << "a lowered count";
    EXPECT_EQ(passes(64), 59U);
    world.primary.lose_data(nullptr);
    world.primary.server().forget_scripts();
    EXPECT_EQ(asks_until_admitted(), "PASSED 1 99") << "an emptied server";
    EXPECT_EQ(passes(104), 99U);
}

TEST_F(Leases, SpendNoTokensOfADeletedWindow) {
    EXPECT_EQ(passes(20), 20U);
    world.remove(stored_key("k"));
    EXPECT_EQ(passes(1, {"k", 40}), 1U) << "more than is at hand: Redis is asked, and begins again";
    EXPECT_EQ(passes(65), 60U);
    EXPECT_EQ(stored(), 100);
}

class LeasesOfAYear : public Leases {
protected:
    LeasesOfAYear() : Leases("100r/366d", 50, "clock") {}
};

TEST_F(LeasesOfAYear, SpendNoTokensOfADeletedWindowThatBeginsAgainWithTheSameEnd) {
    const std::string key = stored_key("k", "31622400c");
    EXPECT_EQ(passes(1), 1U);
    EXPECT_EQ(world.primary.used(key), 50);
    world.remove(key);
    EXPECT_EQ(shown({"k", 50}), "PASSED 50 50");
    EXPECT_EQ(passes(60), 50U);
    EXPECT_EQ(world.primary.used(key), 100);
}

/// Tokens are at hand that were taken under another limit.
TEST_F(Leases, HoldTheLimitThatIsInForce) {
    EXPECT_EQ(passes(3), 3U);
    EXPECT_EQ(stored(), 50);
    limit_to("1r/h");
    EXPECT_EQ(shown("k"), "REJECTED 3 0 later");
    EXPECT_EQ(passes(4), 0U);
    limit_to("5r/h");
    EXPECT_EQ(passes(6), 2U);
    limit_to("100r/h");
    EXPECT_EQ(passes(3), 3U);
    for (const char* rate : {"5r/h", "1r/h", "0r/h"}) {
        limit_to(rate);
        EXPECT_EQ(passes(3), 0U) << rate;
    }
    limit_to("1r/h");
    const std::size_t before = calls["evalsha"];
    const Millis begun = world.at();
    while (world.at() < begun + 3'000) {
        EXPECT_EQ(passes(1), 0U) << "also when the primary is asked";
        world.pass(50);
    }
    EXPECT_GE(calls["evalsha"] - before, 1U);
    EXPECT_LE(calls["evalsha"] - before, 4U) << "once a second";
    limit_to("5r/h");
    EXPECT_EQ(passes(1, {"k", 45}), 0U);
    limit_to("100r/h");
    EXPECT_EQ(passes(1, {"k", 45}), 1U);
    EXPECT_EQ(passes(55), 47U);
    limit_to("130r/h");
    EXPECT_EQ(passes(35), 30U) << "a raised one, as far as it goes";
    EXPECT_EQ(stored(), 130);
}

class EndsOfWindows : public Leases, public testing::WithParamInterface<const char*> {
protected:
    EndsOfWindows() : Leases("150r/h", 100, GetParam()) {}

    /// The wall clock is in the next window; no other time has passed.
    void next_window() { world.machine().clock().stepped += 3'601'000'000; }

    Window window() { return world.primary.window(stored_key("k", period)); }

    const std::string period = std::string(GetParam()) == "clock" ? "3600c" : "3600";
};

TEST_P(EndsOfWindows, AreThoseOfTheirTokens) {
    EXPECT_EQ(shown("k"), "PASSED 1 149");
    const Millis first = last_reset;
    EXPECT_EQ(window().used, 100);
    const std::size_t before = calls["evalsha"];
    next_window();
    EXPECT_EQ(shown("k"), "PASSED 1 149");
    EXPECT_EQ(calls["evalsha"], before + 1) << "a batch of its own";
    EXPECT_EQ(last_reset, window().reset);
    EXPECT_GT(last_reset, first + 3'590'000);
    EXPECT_EQ(window().used, 100);
    EXPECT_EQ(passes(160), 149U);
}

TEST_P(EndsOfWindows, LetThoseWhoWaitSpendTheNext) {
    limit_to("100r/h");
    EXPECT_EQ(passes(1, "other"), 1U);
    const std::size_t before = calls["evalsha"];
    world.primary.link().silent_back = true;
    std::vector<ClientRequest*> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.push_back(&world.begin("k"));
    }
    world.pass(10);
    const Millis ended = window().reset;
    next_window();
    world.primary.link().silent_back = false;
    world.pass(10);
    std::int64_t used = 0;
    for (ClientRequest* request : waiting) {
        EXPECT_EQ(outcome(*request), "PASSED");
        EXPECT_EQ(request->quota().used, ++used);
        EXPECT_EQ(request->applied(0).verdict.window.reset, window().reset);
        request->end();
    }
    EXPECT_GT(window().reset, ended + 3'590'000);
    EXPECT_EQ(window().used, 100);
    EXPECT_EQ(calls["evalsha"], before + 2) << "a batch for all";
}

TEST_P(EndsOfWindows, TakeNothingBackFromTheLastOne) {
    limit_to("3r/h");
    ClientRequest& late = world.begin("k");
    world.pass(10);
    next_window();
    EXPECT_EQ(shown("k").substr(0, 8), "PASSED 1");
    late.end(true);
    EXPECT_EQ(passes(3), 2U);
    EXPECT_EQ(window().used, 3);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(window().used, 3);
    EXPECT_EQ(world.logged("could not be checked|[^0] in doubt|[^0] dropped"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Each, EndsOfWindows, testing::Values("first", "clock"));

class IdleTokens : public Leases {
protected:
    IdleTokens() : Leases("60r/60s", 20) {}
};

TEST_F(IdleTokens, GoBackOnceToTheirWindowAndAreSpentByOthers) {
    EXPECT_EQ(passes(3), 3U);
    EXPECT_EQ(stored("k", "60"), 20);
    const Millis reset = world.primary.window(stored_key("k", "60")).reset;
    ClientRequest& exempt = world.begin("exempt");
    world.pass(2);
    exempt.end(true);
    EXPECT_EQ(stored("exempt", "60"), 20);
    world.put_window(stored_key("moved", "60"), 3, world.at(50'000));
    EXPECT_EQ(passes(1, "moved"), 1U);
    EXPECT_EQ(stored("moved", "60"), 23);
    world.put_window(stored_key("moved", "60"), 44, world.at(50'001));
    EXPECT_EQ(world.admitted(50, "k", &world.worker(0, 1)), 40U) << "another machine spends what there is";
    EXPECT_TRUE(world.until([this] { return stored("k", "60") == 43; }, 20'000));
    EXPECT_TRUE(world.until([this] { return !world.has(stored_key("exempt", "60")); }, 20'000));
    EXPECT_EQ(world.primary.window(stored_key("k", "60")).reset, reset);
    std::size_t passed = 0;
    EXPECT_TRUE(world.until([&] {
        passed += world.admitted(5, "k", &world.worker(0, 1));
        return passed >= 17;
    }));
    EXPECT_EQ(passed, 17U);
    EXPECT_EQ(stored("k", "60"), 60);
    EXPECT_EQ(passes(5), 0U);
    EXPECT_EQ(stored("moved", "60"), 44) << "nothing goes back to another window";
    const std::size_t before = calls["evalsha"];
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(calls["evalsha"], before) << "nothing is left to give back";
    EXPECT_EQ(stored("k", "60"), 60);
    EXPECT_EQ(world.lines(), Texts{});
}

class TokensOfAShortWindow : public Leases {
protected:
    TokensOfAShortWindow() : Leases("50r/10s", 20) {}
};

TEST_F(TokensOfAShortWindow, GoBackBeforeItEnds) {
    EXPECT_EQ(passes(1), 1U);
    EXPECT_EQ(stored("k", "10"), 20);
    EXPECT_TRUE(world.until([this] { return stored("k", "10") == 1; }, 9'000));
}

class TokensOfABusyKey : public Leases {
protected:
    TokensOfABusyKey() : Leases("2000r/60s", 1'000) {}
};

TEST_F(TokensOfABusyKey, StayWhileItIsInUse) {
    for (int i = 0; i < 400; ++i) {
        EXPECT_EQ(passes(1), 1U);
        world.pass(50);
    }
    EXPECT_EQ(stored("k", "60"), 1'000);
    EXPECT_TRUE(world.until([this] { return stored("k", "60") == 400; }, 20'000)) << "and then go back";
}

/// Tokens at hand are forgotten where the zone has no room for all keys, and requests ask for themselves.
TEST(LeasesOfAFullZone, PassNoLimitAndAreAllStored) {
    constexpr int keys = 3'000;
    OneMachine world({"fixed", "5r/h", "lease", 0, "main", 2});
    world.setup.limits.push_back({"auto", "3000r/h", "lease"});
    world.setup.zone_size = Zone::least_size;
    world.setup.on_error = OnError::deny;
    const auto stored = [&world](int key, const char* limit) {
        return world.primary.used(stored_key(std::to_string(key), "3600", limit));
    };
    const auto pass = [&world](int key, std::size_t machine, const char* limit) {
        return world.admitted(1, RequestSetup(std::to_string(key)).under({limit}), &world.worker(0, machine));
    };
    std::vector<std::size_t> passed(keys);
    for (std::size_t round = 0; round < 8; ++round) {
        for (int key = 0; key < keys; ++key) {
            passed[static_cast<std::size_t>(key)] += pass(key, round % 2, "fixed");
        }
    }
    for (int key = 0; key < keys; ++key) {
        EXPECT_LE(passed[static_cast<std::size_t>(key)], 5U);
        EXPECT_EQ(stored(key, "fixed"), 5);
    }
    EXPECT_GT(std::accumulate(passed.begin(), passed.end(), std::size_t{0}), 5U * keys / 2);
    std::vector<std::int64_t> before;
    for (std::size_t round = 0; round < 6; ++round) {
        for (int key = 0; key < 500; ++key) {
            EXPECT_EQ(pass(key, round % 2, "auto"), 1U);
        }
    }
    for (int key = 0; key < 500; ++key) {
        before.push_back(stored(key, "auto"));
    }
    EXPECT_TRUE(world.stop_all());
    for (int key = 0; key < 500; ++key) {
        EXPECT_GE(stored(key, "auto"), 6);
        EXPECT_LE(stored(key, "auto"), before[static_cast<std::size_t>(key)]);
    }
    EXPECT_EQ(world.logged("could not be checked"), 0U);
}

}  // namespace
}  // namespace rate_limit::world::leases_test
