// Tokens of a bucket that a machine fetches in batches, or takes by plain commands.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "t/limiter/scenario.h"
#include "t/limiter/scripted_cluster.h"

namespace rate_limit::world::bucket_batches_test {
namespace {

/// A bucket behind a relay that holds the answers of scripts while it is slow.
class BucketBatches : public testing::Test {
protected:
    explicit BucketBatches(LimitSetup limit) : world(std::move(limit), 9'000) {
        world.setup.on_error = OnError::deny;
    }

    /// How many tokens were asked for, call after call.
    std::vector<std::int64_t> wanted(const std::string& key) const {
        std::vector<std::int64_t> all;
        for (const Command& words : primary.commands()) {
            if ((words[0] == "evalsha" || words[0] == "eval") && words[3] == stored_key(key, "1b")) {
                all.push_back(std::stoll(words[6]));
            }
        }
        return all;
    }

    Scenario world;
    Redis redis{world.events, world.network, "10.0.0.9:6379"};
    bool slow = false;
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     relaying(redis, [this](const Command& words, ScriptedClient&, std::string answer) {
                         return slow && is_write(words) ? hold("gate", std::move(answer))
                                                        : ScriptedReply(std::move(answer));
                     })};
};

class LateBatchOfABucket : public BucketBatches {
protected:
    static constexpr std::int64_t rate = 100;
    static constexpr std::int64_t burst = 2'000;

    struct Passed {
        Millis at;
        std::int64_t cost;
    };

    LateBatchOfABucket() : BucketBatches({"default", "100r/s", "lease", burst}) { world.worker(1); }

    bool spend(std::int64_t cost) {
        const std::string decided = world.ask({"k", cost}, &world.worker(1));
        if (decided == "PASSED") {
            passed.push_back({world.at(), cost});
        }
        return decided == "PASSED";
    }

    void spend_all() {
        for (const std::int64_t cost : {500, 100, 20, 5}) {
            while (spend(cost)) {
            }
        }
    }

    std::vector<Passed> passed;
};

/// Tokens that a request of the first worker gets late, and does not spend, stay as old as they are, though
/// another worker has fetched younger tokens meanwhile.
TEST_F(LateBatchOfABucket, StaysAsOldAsItIs) {
    EXPECT_EQ(world.ask("warm", &world.worker(0)), "PASSED");
    EXPECT_EQ(world.ask("warm", &world.worker(1)), "PASSED");
    slow = true;
    ClientRequest& late = world.begin({"k", 1'900}, &world.worker(0));
    EXPECT_TRUE(world.until([&] { return !wanted("k").empty(); }));
    slow = false;
    world.pass(4'000);
    EXPECT_TRUE(spend(1)) << "the other worker has a batch";
    primary.release("gate");
    world.pass(2);
    EXPECT_EQ(outcome(late), "PASSED");
    late.end(true);
    spend_all();
    world.pass(1'300);
    spend_all();
    for (std::size_t first = 0; first < passed.size(); ++first) {
        std::int64_t sum = 0;
        for (std::size_t last = first; last < passed.size(); ++last) {
            sum += passed[last].cost;
            EXPECT_LE(1'000 * (sum - burst), rate * (passed[last].at - passed[first].at + 2));
        }
    }
}

class BatchesBeside : public BucketBatches {
protected:
    BatchesBeside() : BucketBatches({"default", "1000r/s", "lease", 20'000}) {
        EXPECT_EQ(world.ask("other"), "PASSED");
    }

    /// A hundred requests to each of so many workers at one time, which all pass: what was asked for.
    std::vector<std::int64_t> at_once(const std::string& key, std::size_t workers = 1) {
        slow = true;
        std::vector<ClientRequest*> all;
        for (std::size_t i = 0; i < 100 * workers; ++i) {
            all.push_back(&world.begin(key, &world.worker(i % workers)));
        }
        world.pass(2);
        slow = false;
        primary.release("gate");
        world.pass(2);
        for (ClientRequest* request : all) {
            EXPECT_EQ(outcome(*request), "PASSED");
            request->end();
        }
        return wanted(key);
    }
};

TEST_F(BatchesBeside, AreAnEighthAlsoOfANewKey) {
    EXPECT_EQ(at_once("new"), (std::vector<std::int64_t>{63, 8, 8, 8, 8, 8}));
}

TEST_F(BatchesBeside, AreAnEighthOfAFirstBatchWhereBatchesHaveBecomeSmall) {
    EXPECT_EQ(world.ask("cold"), "PASSED");
    EXPECT_TRUE(world.until([&] {
        return counted(world, TokenEvent::spent) + counted(world, TokenEvent::returned) +
                   counted(world, TokenEvent::lost) ==
               counted(world, TokenEvent::fetched);
    }));
    primary.forget();
    const std::vector<std::int64_t> batches = at_once("cold");
    ASSERT_GT(batches.size(), 1U);
    EXPECT_LT(batches.front(), 8);
    EXPECT_TRUE(std::all_of(batches.begin() + 1, batches.end(), [](std::int64_t want) { return want == 8; }));
}

TEST_F(BatchesBeside, AreFewAlsoForTwoWorkers) {
    EXPECT_EQ(world.ask("other", &world.worker(1)), "PASSED");
    const std::size_t batches = at_once("new", 2).size();
    EXPECT_GT(batches, 2U) << "by more than one batch of each";
    EXPECT_LE(batches, 40U);
}

/// The worker is held up in the middle of a turn, for longer than tokens live: its clock stands still.
class HeldUpInATurn : public BucketBatches {
protected:
    HeldUpInATurn() : BucketBatches({"default", "100r/s", "lease", 2'000, "main", 500}) {
        EXPECT_EQ(world.ask("other"), "PASSED");
    }

    ClientRequest& begin_after(Msec time) {
        ClientRequest* request = nullptr;
        world.worker().loop().turn([&] {
            world.worker().loop().stall(static_cast<Micros>(time + 1) * 1'000);
            world.pass(time);
            request = &world.begin("k");
        });
        return *request;
    }
};

TEST_F(HeldUpInATurn, ARequestSpendsNoTokensThatAreDead) {
    EXPECT_TRUE(world.until([this] { return world.ask("k") == "PASSED" && wanted("k").size() == 1; }));
    EXPECT_EQ(outcome(begin_after(0)), "PASSED") << "tokens are at hand";
    world.pass(5);
    EXPECT_EQ(wanted("k").size(), 1U);
    ClientRequest& request = begin_after(1'500);
    EXPECT_FALSE(request.is_decided());
    EXPECT_TRUE(world.until([&request] { return request.is_decided(); }));
    EXPECT_EQ(outcome(request), "PASSED");
    const std::vector<std::int64_t> all = wanted("k");
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [](std::int64_t want) { return want > 0; }), 2);
}

TEST_F(HeldUpInATurn, ARequestTakesNoSeatInABatchThatMayBeDead) {
    slow = true;
    ClientRequest& opener = world.begin("k");
    world.pass(5);
    EXPECT_EQ(wanted("k").size(), 1U);
    ClientRequest& seated = begin_after(0);
    world.pass(5);
    EXPECT_EQ(wanted("k").size(), 1U) << "it has a seat";
    ClientRequest& late = begin_after(1'500);
    EXPECT_TRUE(world.until([this] { return wanted("k").size() == 2; }, 100)) << "it asks for itself";
    slow = false;
    primary.release("gate");
    world.pass(5);
    for (const ClientRequest* request : {&opener, &seated, &late}) {
        EXPECT_EQ(outcome(*request), "PASSED");
    }
}

/// At the same address there may be another server, whose clock is another: the first request after a
/// connection asks the script.
TEST(PlainCommandsForBuckets, GoByTheClockOfTheServerThatIsConnected) {
    constexpr std::int64_t token = 50'000'000;
    constexpr std::int64_t mark = std::numeric_limits<std::int64_t>::min();
    Scenario world({"default", "20r/s", "charge_refund", 100});
    std::int64_t ahead = 0;  // seconds
    Scripted primary(
        world.events, world.network, Scenario::primary_address,
        [&](const Command& words, ScriptedClient&) -> ScriptedReply {
            if (words[0] == "evalsha" || words[0] == "eval") {
                return integers({1, 99, token, 0, (world.at() + ahead * 1'000) * 1'000, 0, 0});
            }
            return words[0] == "bitfield" ? integers({0, mark + std::stoll(words[11])}) : fallback(words);
        });
    for (const std::int64_t clock : {0, 10, -10}) {
        SCOPED_TRACE(clock);
        ahead = clock;
        primary.drop();
        world.pass(2'000);
        primary.forget();
        for (int i = 0; i < 30; ++i) {
            EXPECT_EQ(world.ask("k"), "PASSED");
            world.pass(60);  // in which the bucket fills
        }
        std::string first;
        std::size_t plain = 0;
        for (const Command& words : primary.commands()) {
            if (words[0] != "evalsha" && words[0] != "bitfield") {
                continue;
            }
            first = first.empty() ? words[0] : first;
            if (words[0] == "bitfield" && words.size() == 12) {
                ++plain;
                const std::int64_t instant = -std::stoll(words[7]) / 1'000'000;
                EXPECT_LT(std::abs(instant - world.at() - clock * 1'000), 5'000) << "by that clock";
            }
        }
        EXPECT_EQ(first, "evalsha") << "a script after a new connection";
        EXPECT_GE(plain, 10U) << "then plain commands";
    }
}

/// The other node's clock may be another, so that the script follows there.
TEST(PlainCommandsForBuckets, FollowARedirectionAsScripts) {
    constexpr std::int64_t token = 50'000'000;
    constexpr std::int64_t mark = std::numeric_limits<std::int64_t>::min();
    const std::string addresses[] = {"10.0.0.1:7000", "10.0.0.2:7000"};
    Scenario world({"default", "20r/s", "charge_refund", 100});
    StoreSetup store;
    store.seeds = {addresses[0]};
    store.check_timeout = store.connect_timeout = store.charge_timeout = 9'000;
    world.setup.stores = {store};
    world.setup.on_error = OnError::deny;
    std::size_t owner = 0;
    const auto node = [&](std::size_t number) {
        return [&, number](const Command& words, ScriptedClient&) -> ScriptedReply {
            const bool plain = words[0] == "bitfield";
            if (words[0] == "cluster") {
                return one_primary(addresses[owner]);
            }
            if (!plain && !is_write(words)) {
                return fallback(words);
            }
            if (owner != number) {
                return moved(key_slot(words[plain ? 1 : 3]), addresses[owner]);
            }
            if (!plain) {
                return integers({1, 99, token, 0, world.at() * 1'000, 0, 0});
            }
            return words.size() < 12 ? integers({mark + world.at() * 1'000'000 + token})
                                     : integers({0, mark + std::stoll(words[11])});
        };
    };
    Scripted first(world.events, world.network, addresses[0], node(0));
    Scripted second(world.events, world.network, addresses[1], node(1));
    const auto asks_until_plain = [&](const Scripted& server, std::size_t times) {
        return world.until([&] {
            world.pass(60);  // in which the bucket fills
            (void)world.ask("k");
            return server.commands("bitfield").size() >= times;
        });
    };
    ASSERT_TRUE(asks_until_plain(first, 5));
    owner = 1;
    first.forget();
    world.pass(60);
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_EQ(first.commands("bitfield").size(), 1U) << "it has to follow";
    std::string asked;
    for (const Command& words : second.commands()) {
        asked = asked.empty() && (words[0] == "bitfield" || is_write(words)) ? words[0] : asked;
    }
    EXPECT_EQ(asked.substr(0, 4), "eval") << "the other node is asked by the script";
    EXPECT_TRUE(asks_until_plain(second, 5)) << "and then by its own clock";
    EXPECT_EQ(world.logged("could not be checked: (?!the primary of the shard is not up)"), 0U);
}

}  // namespace
}  // namespace rate_limit::world::bucket_batches_test
