// A refund that was not answered is sent again, under its number; Redis counts it once.

#include <string>
#include <utility>
#include <vector>

#include "t/limiter/scenario.h"

namespace rate_limit::world::unanswered_refunds_test {
namespace {

class UnansweredRefunds : public testing::Test {
protected:
    /// One request passes, another one is exempt, and its refund is sent.
    void refund_one(const std::string& key = "k") {
        ASSERT_EQ(world.ask({key, 4}), "PASSED");
        ClientRequest& exempt = world.begin({key, 4});
        ASSERT_TRUE(world.until([&] { return exempt.is_admitted(); }));
        const std::size_t before = refunds();
        exempt.end(true);
        ASSERT_TRUE(world.until([&] { return refunds() > before; }));
    }

    std::size_t refunds() const {
        const std::vector<Command>& all = primary.commands();
        return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_refund));
    }

    std::size_t in_doubt() const { return world.logged("1 refunds for primary .* in doubt"); }

    Scenario world{{"default", "100r/h", "charge_refund"}, 9'000};
    Redis redis{world.events, world.network, "10.0.0.9:6379"};
    Scripted primary{world.events, world.network, Scenario::primary_address, holding_refunds(redis)};
};

/// Redis may have forgotten a refund's number after five minutes.
TEST_F(UnansweredRefunds, AreSentAgainForFiveMinutes) {
    refund_one();
    primary.stop();
    world.pass(299'000);
    EXPECT_EQ(in_doubt(), 0U);
    world.pass(2'000);
    EXPECT_EQ(in_doubt(), 1U);
    EXPECT_EQ(counted(world, Loss::refunds_in_doubt), 1);
    primary.start();
    EXPECT_TRUE(
        world.until([&] { return world.ask(RequestSetup("k", 4).or_else(OnError::deny)) == "PASSED"; }));
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(refunds(), 1U);
    EXPECT_EQ(in_doubt(), 1U);
}

TEST_F(UnansweredRefunds, AreInDoubtWhereTheWorkerEndsBefore) {
    refund_one();
    primary.stop();
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(refunds(), 1U);
    EXPECT_EQ(in_doubt(), 1U);
}

/// Each repetition is one more that was not answered, and must not keep the worker for as long again.
TEST_F(UnansweredRefunds, DoNotKeepALeavingWorkerWhereAllElseIsAnswered) {
    refund_one();
    const Millis before = world.at();
    EXPECT_TRUE(world.stop_all());
    EXPECT_LE(world.at() - before, 2 * 9'000);
    EXPECT_GT(refunds(), 1U);
    EXPECT_EQ(in_doubt(), 1U);
}

/// Redis may have executed it the first time.
TEST_F(UnansweredRefunds, AreInDoubtWhereTheyAreRefusedAsTheyAreSentAgain) {
    for (const char* refusal :
         {"ERR what", "NOPERM this user has no permissions to run the 'evalsha' command",
          "NOPERM this user has no permissions to access the 'k' key"}) {
        SCOPED_TRACE(refusal);
        const std::int64_t before = counted(world, Loss::refunds_in_doubt);
        std::size_t sent = 0;
        Handler relay = relaying(redis, [](const Command&, ScriptedClient&, std::string answer) {
            return ScriptedReply(std::move(answer));
        });
        primary.handler = [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
            if (!is_refund(words)) {
                return relay(words, client);
            }
            if (sent++ == 0) {
                (void)relay(words, client);
                return client.reset();
            }
            return error(refusal);
        };
        refund_one();
        EXPECT_TRUE(world.until([&] { return sent > 1; }));
        world.pass(5'000);
        EXPECT_EQ(sent, 2U);
        EXPECT_EQ(counted(world, Loss::refunds_in_doubt), before + 1);
    }
    EXPECT_EQ(counted(world, Write::refunds_dropped), 0U);
    EXPECT_EQ(world.logged("refunds .* dropped"), 0U);
    EXPECT_TRUE(world.stop_all());
}

class RefundsAtAReload : public UnansweredRefunds, public testing::WithParamInterface<bool> {};

/// `GetParam()`: Redis has executed the refund whose answer is lost.
TEST_P(RefundsAtAReload, AreSentAgainByTheLeavingWorker) {
    bool away = false;
    bool back = false;
    Handler relay = relaying(redis, [](const Command&, ScriptedClient&, std::string answer) {
        return ScriptedReply(std::move(answer));
    });
    primary.handler = [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
        away = away || is_refund(words);
        if (!away || back) {
            return relay(words, client);
        }
        if (is_refund(words) && GetParam()) {
            (void)relay(words, client);
        }
        return client.reset();
    };
    refund_one();
    EXPECT_EQ(redis.used(stored_key("k")), GetParam() ? 4 : 8);
    world.reload();
    back = true;
    EXPECT_TRUE(world.until([&] { return world.end_leaving() == 0; }));
    EXPECT_GT(refunds(), 1U);
    EXPECT_EQ(redis.used(stored_key("k")), 4);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(redis.used(stored_key("k")), 4);
    EXPECT_EQ(world.logged("[^0] in doubt"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Each, RefundsAtAReload, testing::Bool());

}  // namespace
}  // namespace rate_limit::world::unanswered_refunds_test
