// How a lease fetches its batches: who takes a place in one that is on its way, and when the next one is
// fetched.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "t/limiter/scenario.h"

namespace rate_limit::world::batches_test {
namespace {

using Texts = std::vector<std::string>;

/// A server that grants as lua/reserve.lua does.
class Batches : public testing::Test {
protected:
    explicit Batches(LimitSetup limit) : world(std::move(limit), 20'000) {}

    /// The reservations asked for the key: want and least.
    std::vector<std::pair<std::int64_t, std::int64_t>> asked(const std::string& key) const {
        std::vector<std::pair<std::int64_t, std::int64_t>> found;
        for (const Command& words : primary.commands("evalsha")) {
            if (words[3].substr(words[3].rfind(':') + 1) == key && words.size() >= 10) {
                found.emplace_back(std::stoll(words[5]), std::stoll(words[6]));
            }
        }
        return found;
    }

    Scenario world;
    bool slow = false;
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     reserving(world.at(1'800'123), slow)};
};

/// Requests that come while a batch is on its way take places in it, as long as it has places.
class Places : public Batches {
protected:
    explicit Places(const std::string& rate = "1000r/h")
        : Batches({"default", rate, "lease", 0, "main", 100}) {
        EXPECT_EQ(world.ask("warm"), "PASSED");
        slow = true;
    }

    ClientRequest& start(std::int64_t cost) {
        ClientRequest& request = world.begin({"k", cost});
        world.pass(1);
        return request;
    }

    std::vector<ClientRequest*> start_all(const std::vector<std::int64_t>& costs) {
        std::vector<ClientRequest*> all;
        for (const std::int64_t cost : costs) {
            all.push_back(&start(cost));
        }
        return all;
    }

    Texts asks() const {
        Texts texts;
        for (const auto& [want, least] : asked("k")) {
            texts.push_back(std::to_string(want) + "/" + std::to_string(least));
        }
        return texts;
    }

    /// The answers come: each request's outcome and the used that it shows.
    Texts granted(const std::vector<ClientRequest*>& requests) {
        slow = false;
        primary.release("gate");
        world.pass(2);
        primary.release("gate");
        Texts texts;
        for (ClientRequest* request : requests) {
            texts.push_back(outcome(*request) + " " + std::to_string(request->quota().used));
            if (request->is_admitted()) {
                request->end();
            }
        }
        slow = true;
        return texts;
    }

    static bool all_pass(const Texts& texts) {
        return std::all_of(texts.begin(), texts.end(),
                           [](const std::string& text) { return text.rfind("PASSED", 0) == 0; });
    }
};

TEST_F(Places, AreTakenInOneCallByThoseThatFit) {
    const auto five = start_all({20, 20, 20, 20, 20});
    EXPECT_EQ(asks(), (Texts{"100/20"}));
    EXPECT_EQ(granted(five), (Texts{"PASSED 20", "PASSED 40", "PASSED 60", "PASSED 80", "PASSED 100"}));
    ClientRequest& next = start(1);
    EXPECT_EQ(asks(), (Texts{"100/20", "100/1"})) << "then nothing is left";
    EXPECT_EQ(granted({&next}), (Texts{"PASSED 101"}));
}

TEST_F(Places, AreNoMoreThanTheBatchHas) {
    const auto five = start_all({25, 25, 25, 25, 25});
    EXPECT_EQ(asks(), (Texts{"100/25", "25/25"})) << "who finds none asks for itself, and no more";
    EXPECT_TRUE(all_pass(granted(five)));
}

TEST_F(Places, AreNotForWhoCostsMoreThanABatch) {
    const auto all = start_all({150, 20, 150, 80, 1});
    EXPECT_EQ(asks(), (Texts{"150/150", "100/20", "150/150", "1/1"}));
    EXPECT_TRUE(all_pass(granted(all)));
}

TEST_F(Places, OfClientsThatLeaveAreFreeAgain) {
    std::vector<ClientRequest*> all = start_all({60, 40});
    all.back()->abort();
    all.back() = &start(40);
    EXPECT_EQ(asks(), (Texts{"100/60"}));
    all.push_back(&start(1));
    EXPECT_EQ(asks(), (Texts{"100/60", "1/1"})) << "once";
    EXPECT_TRUE(all_pass(granted(all)));
}

TEST_F(Places, StayWhereTheOneThatAskedLeaves) {
    std::vector<ClientRequest*> all = start_all({60, 40});
    all.front()->abort();
    all.front() = &start(60);
    EXPECT_EQ(asks(), (Texts{"100/60"}));
    EXPECT_TRUE(all_pass(granted(all)));
}

TEST_F(Places, LeaveTheTokensToTheNextWhereAllHaveLeft) {
    start(60).abort();
    (void)granted({});
    EXPECT_EQ(granted({&start(100)}), (Texts{"PASSED 100"}));
    EXPECT_EQ(asks(), (Texts{"100/60"}));
}

TEST_F(Places, CountOnWhatIsAtHandAndAskAgainWhereItIsSpent) {
    EXPECT_EQ(granted({&start(90)}), (Texts{"PASSED 90"}));
    const auto two = start_all({99, 30});
    EXPECT_EQ(asks(), (Texts{"100/90", "100/89", "20/20"}));
    EXPECT_EQ(world.ask({"k", 10}), "PASSED") << "another one spends the ten that are at hand";
    EXPECT_TRUE(all_pass(granted(two)));
    EXPECT_EQ(asks(), (Texts{"100/90", "100/89", "20/20", "100/9"}));
}

class LastPlaces : public Places, public testing::WithParamInterface<bool> {
protected:
    LastPlaces() : Places("100r/h") {}
};

/// `GetParam()`: others come when the answer has arrived; else while it is on its way.
TEST_P(LastPlaces, AreNotLostToOthers) {
    const auto five = start_all({20, 20, 20, 20, 20});
    primary.release("gate");
    slow = false;
    if (GetParam()) {
        world.pass(1);
    }
    std::vector<ClientRequest*> others;
    for (int i = 0; i < 4; ++i) {
        others.push_back(&world.begin({"k", 20}));
    }
    world.pass(5);
    for (const ClientRequest* request : five) {
        EXPECT_EQ(outcome(*request), "PASSED");
    }
    for (const ClientRequest* request : others) {
        EXPECT_EQ(outcome(*request), "REJECTED");
    }
}

INSTANTIATE_TEST_SUITE_P(Each, LastPlaces, testing::Bool());

class FetchedAhead : public Batches {
protected:
    explicit FetchedAhead(const std::string& rate = "1000000r/h") : Batches({"default", rate, "lease"}) {}

    /// So many requests, four each millisecond; how many did not pass, or had to wait.
    std::size_t load(std::size_t count) {
        std::size_t failed = 0;
        for (std::size_t i = 0; i < count; ++i) {
            failed += world.ask("k") == "PASSED" ? 0 : 1;
            if (i % 4 == 3) {
                world.pass(1);
            }
        }
        return failed;
    }
};

TEST_F(FetchedAhead, BatchesOfABusyKeyGrow) {
    std::size_t before = 0;
    for (int thousand = 0; thousand < 5; ++thousand) {
        before = asked("k").size();
        EXPECT_EQ(load(1'000), 0U);
    }
    const auto all = asked("k");
    EXPECT_LE(all.size(), 5U);
    EXPECT_LE(all.size() - before, 2U) << "the fifth thousand needs hardly any";
    EXPECT_EQ(all.front().first, 1) << "what the first request costs";
    EXPECT_EQ(all[1].first, 1'000) << "the first batch is a thousandth of the limit";
    EXPECT_GT(all.back().first, 1'000);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_LE(all[i].first, 50'000) << "a twentieth of the limit";
        EXPECT_TRUE(i < 2 || 4 * all[i].first <= 9 * all[i - 1].first + 4) << "to 2.25 times as many";
    }
}

class FetchedAheadOfASmallLimit : public FetchedAhead {
protected:
    FetchedAheadOfASmallLimit() : FetchedAhead("1000r/h") {}
};

TEST_F(FetchedAheadOfASmallLimit, BatchesAreFairToTheLastToken) {
    EXPECT_EQ(load(1'000), 0U);
    EXPECT_EQ(world.ask("k"), "REJECTED");
    std::int64_t spent = 0;
    std::int64_t most = 0;
    for (const auto& [want, least] : asked("k")) {
        EXPECT_LE(want, std::max<std::int64_t>(1, (1'000 - spent) / 4)) << "a quarter of what is left";
        EXPECT_LE(want, 50) << "a twentieth of the limit";
        spent += want;
        most = std::max(most, want);
    }
    EXPECT_GE(most, 20);
}

class FetchedAheadOfASlowServer : public FetchedAhead {
protected:
    FetchedAheadOfASlowServer() : FetchedAhead("20000r/h") {}
};

TEST_F(FetchedAheadOfASlowServer, BatchesLetNobodyWait) {
    EXPECT_EQ(load(400), 0U);
    slow = true;
    const std::size_t before = asked("k").size();
    const Millis begun = world.at();
    for (int i = 0; i < 1'000 && asked("k").size() == before; ++i) {
        EXPECT_EQ(load(1), 0U);
        world.pass(1);
    }
    const Millis loaded = world.at();
    EXPECT_LT(loaded - begun, 1'001);
    EXPECT_EQ(load(3), 0U);
    EXPECT_EQ(world.at(), loaded) << "those that come meanwhile do not wait";
    EXPECT_EQ(asked("k").size(), before + 1) << "nor ask again";
    EXPECT_GT(asked("k").back().first, 20);
    EXPECT_EQ(asked("k").back().second, 1) << "of one, as nobody waits for it";
    EXPECT_EQ(world.logged("could not be checked|[^0] in doubt|is down"), 0U);
}

class FixedBatches : public Batches {
protected:
    FixedBatches() : Batches({"default", "1000000r/h", "lease", 0, "main", 500}) {}
};

TEST_F(FixedBatches, AreFetchedWhenTheyAreNeeded) {
    EXPECT_EQ(world.admitted(500, "k"), 500U);
    EXPECT_EQ(asked("k"), (std::vector<std::pair<std::int64_t, std::int64_t>>{{500, 1}}));
    EXPECT_EQ(world.admitted(1'001, "k"), 1'001U);
    EXPECT_EQ(asked("k"),
              (std::vector<std::pair<std::int64_t, std::int64_t>>{{500, 1}, {500, 1}, {500, 1}, {500, 1}}));
}

}  // namespace
}  // namespace rate_limit::world::batches_test
