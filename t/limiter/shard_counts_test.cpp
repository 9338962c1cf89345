// The console and the metrics count of a shard: waits for answers, writes and what became of them, and
// tokens. Each is counted once.

#include <numeric>
#include <string>
#include <vector>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::shard_counts_test {
namespace {

using Counts = std::vector<std::uint64_t>;

/// Charges that wait for the shard, and its tokens that are noted, as the last round over the memory has
/// found them.
DebtCounts::Seen seen(Scenario& world) {
    const StoreConf& store = *world.worker().configuration().stores.front();
    return world.machine().zone().debt_counts().seen(Routes::counted_as(store.routes.digest_of(0)));
}

/// Answers that take longer than the bound of a bucket and no longer than the next one, and the last one
/// never comes.
TEST(Waits, AreInTheBucketOfTheirLength) {
    Scenario world({"default", "1000r/h"});
    world.setup.stores.front().check_timeout = 2'000;
    world.setup.stores.front().fresh = 0;
    Micros takes = 0;
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         return words[0] != "hmget" ? ScriptedReply(fallback(words))
                                : takes < 0         ? hold("never", nil())
                                                    : later(takes, hmget({}, {}));
                     });
    const auto waits = [&world] {
        Counts all;
        for (std::size_t i = 0; i < wait_buckets; ++i) {
            all.push_back(counted(world, static_cast<Wait>(i)));
        }
        return all;
    };
    EXPECT_EQ(world.ask("warm"), "PASSED");
    Counts expected = waits();
    EXPECT_EQ(std::accumulate(expected.begin(), expected.end(), std::uint64_t{0}), 1U);
    std::uint64_t micros = counted(world, Wait::micros);
    for (const Micros time : {Micros{550}, Micros{3'000}, Micros{120'000}, Micros{-1}}) {
        takes = time;
        EXPECT_EQ(world.ask("k" + std::to_string(time)), time < 0 ? "ERROR_ALLOWED" : "PASSED");
        const Micros least = time < 0 ? 2'000'000 : time;
        ++expected[wait_bucket(static_cast<std::uint64_t>(least + 200))];
        EXPECT_EQ(waits(), expected) << time;
        EXPECT_GE(counted(world, Wait::micros), micros + static_cast<std::uint64_t>(least));
        micros = counted(world, Wait::micros);
    }
}

/// Windows that have closed before the primary is back take nothing: their charges are no loss.
TEST(Writes, AreStoredOrExpire) {
    OneMachine world({"c", "1000r/h"});
    world.setup.limits.push_back({"s", "1000r/s"});
    world.setup.limits.push_back({"r", "1000r/h", "charge_refund"});
    world.setup.on_error = OnError::local;
    const auto all = [&world] {
        Counts counts;
        for (std::size_t i = 0; i < CountersOf<Write>::count; ++i) {
            counts.push_back(counted(world, static_cast<Write>(i)));
        }
        return counts;
    };
    for (int i = 0; i < 5; ++i) {
        const std::string key = std::to_string(i);
        EXPECT_EQ(world.ask(RequestSetup(key).under({"c"})), "PASSED");
        EXPECT_EQ(world.ask(RequestSetup(key).under({"r"})), "PASSED");
        ClientRequest& exempt = world.begin(RequestSetup(key).under({"r"}));
        world.pass(5);
        exempt.end(true);
    }
    world.pass(100);
    EXPECT_EQ(all(), (Counts{5, 0, 0, 5, 0, 0, 10, 0}));
    world.primary.kill(true);
    world.pass(2'000);
    for (const char* key : {"1", "1", "2"}) {
        EXPECT_EQ(world.ask(RequestSetup(key).under({"c"})), "ERROR_LOCAL");
    }
    EXPECT_EQ(world.ask(RequestSetup("1").under({"s"})), "ERROR_LOCAL");
    EXPECT_TRUE(world.until([&world] { return seen(world).charges >= 3; }));
    world.pass(2'000);
    world.primary.start();
    world.pass(30'000);
    EXPECT_EQ(seen(world).charges, 0U);
    EXPECT_EQ(all(), (Counts{8, 0, 1, 5, 0, 0, 10, 0}));
    EXPECT_EQ(counted(world, Loss::charges_in_doubt) + counted(world, Loss::reservations_in_doubt), 0U);
}

class TokensOfAShard : public testing::Test {
protected:
    TokensOfAShard() { world.setup.limits.push_back({"short", "100r/s", "lease", 0, "main", 20}); }

    /// All workers have ended: nothing is at hand.
    void expect_balance(std::uint64_t spent) {
        EXPECT_TRUE(world.stop_all());
        EXPECT_EQ(counted(world, TokenEvent::spent), spent);
        EXPECT_EQ(counted(world, TokenEvent::fetched), counted(world, TokenEvent::spent) +
                                                           counted(world, TokenEvent::returned) +
                                                           counted(world, TokenEvent::lost));
    }

    const RequestSetup slow = RequestSetup("k").under({"long"});
    OneMachine world{{"long", "10000r/h", "lease"}};
};

TEST_F(TokensOfAShard, AreSpentOrReturned) {
    world.worker(1);
    EXPECT_EQ(world.admitted(300, slow), 300U);
    EXPECT_EQ(counted(world, TokenEvent::spent), 300U);
    EXPECT_TRUE(world.until([this] {
        const auto at_hand = static_cast<std::uint64_t>(seen(world).tokens);
        return at_hand > 0 && at_hand + 300 == counted(world, TokenEvent::fetched);
    }));
    for (int i = 0; i < 20; ++i) {
        ClientRequest& exempt = world.begin(slow);
        world.pass(2);
        exempt.end(true);
    }
    world.reload();
    EXPECT_EQ(world.admitted(50, slow), 50U);
    EXPECT_EQ(counted(world, TokenEvent::lost), 0U);
    expect_balance(350);
    EXPECT_GT(counted(world, TokenEvent::returned), 0U);
}

TEST_F(TokensOfAShard, AreLostWithTheirWindow) {
    EXPECT_EQ(world.admitted(300, slow), 300U);
    world.primary.lose_data(nullptr);
    std::size_t more = 0;
    EXPECT_TRUE(world.until([&] {
        more += world.admitted(20, slow);
        return counted(world, TokenEvent::lost) > 0;
    })) << "when the next are fetched";
    EXPECT_EQ(world.admitted(50, RequestSetup("k").under({"short"})), 50U);
    world.pass(2'000);
    expect_balance(350 + more);
}

}  // namespace
}  // namespace rate_limit::world::shard_counts_test
