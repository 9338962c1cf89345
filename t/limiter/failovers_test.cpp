// Answers that are lost with the primary, or come from a former one: what passed is what the next primary
// counts in the end.

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "limiter/store/awaited_refund.h"
#include "limiter/store/store.h"
#include "t/limiter/scenario.h"
#include "t/world/sentinel.h"

namespace rate_limit::world::failovers_test {
namespace {

/// A primary and its replica.
class Failovers : public testing::Test {
protected:
    explicit Failovers(LimitSetup limit) : world(std::move(limit), 9'000) {
        world.setup.on_error = OnError::deny;
        redis.replicate_to(replica);
    }

    void part() { redis.stop_replicating_to(replica); }

    void promote() {
        part();
        replica.server().state.role = ServerRole::primary;
    }

    bool passes_at_last(const std::string& key = "k") {
        return world.until([&] { return world.ask(key) == "PASSED"; });
    }

    Scenario world;
    Redis redis{world.events, world.network, "10.0.0.8:6379"};
    Redis replica{world.events, world.network, "10.0.0.9:6379"};
};

enum class Heard { yes, no, answered };  // `answered`: and the next primary has not heard of it

class RefundsAtAFailover : public Failovers, public testing::WithParamInterface<Heard> {
protected:
    RefundsAtAFailover() : Failovers({"default", "10r/h", "charge_refund"}) {}

    std::vector<Command> refunds() const {
        std::vector<Command> found;
        for (const Command& words : primary.commands()) {
            if (is_refund(words)) {
                found.push_back(words);
            }
        }
        return found;
    }

    Redis* to = &redis;
    Handler relay = relaying_to(to, [this](const Command& words, ScriptedClient& client, std::string answer) {
        if (!is_refund(words) || GetParam() == Heard::answered || to != &redis) {
            return ScriptedReply(std::move(answer));
        }
        to = nullptr;
        return client.reset();
    });
    Scripted primary{world.events, world.network, Scenario::primary_address, relay};
};

/// A refund that was answered and that the next primary has not heard of is lost: its cost counts there until
/// the window ends, and no more than the limit passes.
TEST_P(RefundsAtAFailover, CountOnce) {
    const std::string key = stored_key("k");
    EXPECT_EQ(world.admitted(3, "k"), 3U);
    ClientRequest& exempt = world.begin({"k", 4});
    world.pass(5);
    ASSERT_EQ(replica.used(key), 7);
    if (GetParam() != Heard::yes) {
        part();
    }
    exempt.end(true);
    world.pass(5);
    EXPECT_EQ(redis.used(key), 3);
    promote();
    redis.kill(true);
    to = &replica;
    if (GetParam() == Heard::answered) {
        primary.drop();
        world.pass(1);
    } else {
        EXPECT_TRUE(world.until([&] { return refunds().size() > 1; }));
        world.pass(5);
    }
    const std::int64_t after = GetParam() == Heard::answered ? 7 : 3;
    EXPECT_EQ(replica.used(key), after);
    std::int64_t passed = 0;
    EXPECT_TRUE(world.until([&] { return (passed += world.ask("k") == "PASSED" ? 1 : 0) == 10 - after; }));
    EXPECT_EQ(replica.used(key), 10);
    EXPECT_EQ(world.ask("k"), "REJECTED");
    std::set<std::string> numbers;
    for (const Command& words : refunds()) {
        numbers.insert(words[8]);
    }
    EXPECT_EQ(numbers.size(), 1U);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(replica.used(key), 10);
    EXPECT_EQ(world.logged("[^0] in doubt"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Each, RefundsAtAFailover, testing::Values(Heard::yes, Heard::no, Heard::answered));

class BatchesAtAFailover : public Failovers, public testing::WithParamInterface<bool> {
protected:
    BatchesAtAFailover() : Failovers({"default", "1000r/h", "lease", 0, "main", 10}) {}
};

/// `GetParam()`: the next primary has heard of it, and tells what it was granted; else it grants it anew.
TEST_P(BatchesAtAFailover, CountOnce) {
    Redis* to = &redis;
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     relaying_to(to, [&](const Command& words, ScriptedClient& client, std::string answer) {
                         if (!is_batch(words) || to != &redis) {
                             return ScriptedReply(std::move(answer));
                         }
                         to = nullptr;
                         return client.reset();
                     }));
    if (!GetParam()) {
        part();
    }
    EXPECT_EQ(world.admitted(1, "k"), 0U);
    EXPECT_EQ(redis.used(stored_key("k")), 10);
    world.pass(5);
    EXPECT_EQ(replica.used(stored_key("k")), GetParam() ? 10 : 0);
    promote();
    redis.kill(true);
    to = &replica;
    EXPECT_TRUE(passes_at_last());
    EXPECT_EQ(world.admitted(9, "k"), 9U);
    EXPECT_EQ(replica.used(stored_key("k")), 10);
    EXPECT_EQ(world.admitted(1, "k"), 1U);
    EXPECT_EQ(replica.used(stored_key("k")), 20);
    const std::vector<Command> calls = batches(primary, "k");
    EXPECT_EQ(calls[0][14], calls[1][14]) << "it is asked for again under the same number";
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(replica.used(stored_key("k")), 11);
    EXPECT_EQ(world.logged("[^0] in doubt"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Each, BatchesAtAFailover, testing::Bool());

/// A sentinel says which of the two is the primary, each behind a relay.
class FormerPrimary : public Failovers {
protected:
    explicit FormerPrimary(LimitSetup limit) : Failovers(std::move(limit)) {
        StoreSetup& store = world.setup.stores.front();
        store.shards = {{"a", "", {}, "m"}};
        store.sentinels = {sentinel.address()};
        sentinel.watch("m").primary = former.address();
        sentinel.watch("m").epoch = 1;
    }

    /// The other one is the primary, and the worker asks it.
    void fail_over() {
        promote();
        sentinel.watch("m").primary = next.address();
        sentinel.watch("m").epoch = 2;
        EXPECT_TRUE(world.until([&] { return world.logged("before it was") != 0; }));
        int other = 0;
        EXPECT_TRUE(world.until([&] {
            (void)world.ask("other" + std::to_string(other++));
            return !next.commands("evalsha").empty();
        }));
    }

    static ScriptedReply as_it_is(const Command& /*words*/, ScriptedClient& /*client*/, std::string answer) {
        return answer;
    }

    Scripted former{world.events, world.network, "10.0.0.1:6379", relaying(redis, as_it_is)};
    Scripted next{world.events, world.network, "10.0.0.2:6379", relaying(replica, as_it_is)};
    Sentinel sentinel{world.network, "10.0.1.1:26379"};
};

class FormerPrimaryOfRefunds : public FormerPrimary {
protected:
    FormerPrimaryOfRefunds() : FormerPrimary({"default", "1000r/h", "charge_refund"}) {}
};

/// The answer to a refund comes after the next primary, which has not heard of that refund, has taken another
/// one of the same window.
TEST_F(FormerPrimaryOfRefunds, AnswersWhatCountsAtTheNextOneAll) {
    const std::string key = stored_key("k");
    former.handler = holding_refunds(redis);
    ASSERT_TRUE(passes_at_last());
    ClientRequest& twenty = world.begin({"k", 20});
    ClientRequest& more = world.begin({"k", 300});
    world.pass(5);
    ASSERT_EQ(replica.used(key), 321);
    part();
    twenty.end(true);
    world.pass(5);
    EXPECT_EQ(redis.used(key), 301);
    fail_over();
    more.end(true);
    EXPECT_TRUE(world.until([&] { return replica.used(key) == 21; }));
    former.release("gate");
    EXPECT_TRUE(world.until([&] { return replica.used(key) == 1; }));
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(replica.used(key), 1);
    EXPECT_EQ(world.logged("[^0] in doubt"), 0U);
}

/// The parameter is what the next primary says of a refund that the former one has taken; null: the next one
/// is away.
class DoubtsOfRefunds : public FormerPrimaryOfRefunds, public testing::WithParamInterface<const char*> {};

TEST_P(DoubtsOfRefunds, TellThatTheFormerOneHasAnswered) {
    former.handler = holding_refunds(redis);
    ASSERT_TRUE(passes_at_last());
    ClientRequest& exempt = world.begin({"k", 20});
    world.pass(5);
    exempt.end(true);
    world.pass(5);
    fail_over();
    if (GetParam() == nullptr) {
        next.stop();
    } else {
        next.handler = relaying(replica, [](const Command& words, ScriptedClient&, std::string answer) {
            return ScriptedReply(is_refund(words) ? error(GetParam()) : std::move(answer));
        });
    }
    former.release("gate");
    world.pass(5'000);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(counted(world, Loss::refunds_in_doubt), 1U);
    EXPECT_EQ(counted(world, Loss::answered_by_former), 1U);
}

INSTANTIATE_TEST_SUITE_P(Each, DoubtsOfRefunds,
                         testing::Values(nullptr, "ERR what",
                                         "READONLY You can't write against a read only replica."));

class Operator final : public Answer::Owner {
    void on_answer(Answer& /*answer*/) noexcept override {}
};

TEST_F(FormerPrimaryOfRefunds, HasAnsweredWhatAnOperatorGivesBack) {
    ASSERT_TRUE(passes_at_last());
    former.handler = relaying(redis, [](const Command& words, ScriptedClient&, std::string answer) {
        return words[0] == "evalsha" ? hold("gate", std::move(answer)) : ScriptedReply(std::move(answer));
    });
    WorkerProcess& worker = world.worker();
    Operator waits;
    AwaitedRefund refund;
    worker.loop().turn([&] {
        GivingBack what;
        what.cost = GivingBack::all_of_it;
        what.reset = world.at(3'600'000);
        Shard& shard = live_store(*worker.configuration().stores.front())->at(0);
        refund.start(shard, stored_key("k"), what, waits);
    });
    world.pass(5);
    fail_over();
    former.release("gate");
    world.pass(5);
    EXPECT_TRUE(refund.in_doubt());
    EXPECT_EQ(counted(world, Loss::refunds_in_doubt), 1U);
    EXPECT_EQ(counted(world, Loss::answered_by_former), 1U);
    EXPECT_TRUE(world.stop_all());
}

struct Sent {
    bool again;  // it was asked for again, as its first answer was lost
    bool heard;  // the next primary has heard of it
};

class FormerPrimaryOfBatches : public FormerPrimary, public testing::WithParamInterface<Sent> {
protected:
    FormerPrimaryOfBatches() : FormerPrimary({"default", "1000r/h", "lease", 0, "main", 10}) {}
};

TEST_P(FormerPrimaryOfBatches, AnswersAfterTheNextOneHasGrantedAnother) {
    const std::string key = stored_key("k");
    bool cuts = GetParam().again;
    former.handler = relaying(redis, [&](const Command& words, ScriptedClient& client, std::string answer) {
        if (!is_batch(words) || words[3] != key) {
            return ScriptedReply(std::move(answer));
        }
        return cuts ? client.reset() : hold("gate", std::move(answer));
    });
    ASSERT_TRUE(passes_at_last("early"));
    if (!GetParam().heard) {
        part();
    }
    ClientRequest& waiting = world.begin("k");
    EXPECT_TRUE(world.until([&] { return !batches(former, "k").empty(); }));
    if (GetParam().again) {
        world.pass(2);
        EXPECT_EQ(outcome(waiting), "ERROR_DENIED");
        cuts = false;
        former.forget();
        EXPECT_TRUE(world.until([&] { return !batches(former, "k").empty(); }));
    }
    world.pass(5);
    EXPECT_EQ(replica.used(key), GetParam().heard ? 10 : 0);
    fail_over();
    std::size_t passed = world.admitted(1, "k");
    EXPECT_EQ(passed, 1U) << "the next primary is asked, too";
    former.release("gate");
    world.pass(5);
    if (waiting.is_admitted() && !waiting.is_over()) {
        waiting.end();
        ++passed;
    }
    EXPECT_EQ(world.admitted(40, "k"), 40U);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(replica.used(key), static_cast<std::int64_t>(passed) + 40);
}

INSTANTIATE_TEST_SUITE_P(Each, FormerPrimaryOfBatches,
                         testing::Values(Sent{false, true}, Sent{false, false}, Sent{true, true},
                                         Sent{true, false}));

/// `GetParam()`: the next primary is away; else it says nothing that makes sense of the batch.
class DoubtsOfBatches : public FormerPrimary, public testing::WithParamInterface<bool> {
protected:
    DoubtsOfBatches() : FormerPrimary({"default", "1000r/h", "lease", 0, "main", 10}) {}
};

TEST_P(DoubtsOfBatches, TellThatTheFormerOneHasAnswered) {
    const std::string key = stored_key("k");
    former.handler = relaying(redis, [&](const Command& words, ScriptedClient&, std::string answer) {
        const bool held = is_batch(words) && words[3] == key;
        return held ? hold("gate", std::move(answer)) : ScriptedReply(std::move(answer));
    });
    ASSERT_TRUE(passes_at_last("early"));
    (void)world.begin("k");
    EXPECT_TRUE(world.until([&] { return !batches(former, "k").empty(); }));
    world.pass(5);
    fail_over();
    if (GetParam()) {
        next.stop();
    } else {
        next.handler = relaying(replica, [&](const Command& words, ScriptedClient&, std::string answer) {
            return ScriptedReply(is_batch(words) && words[3] == key ? integer(1) : std::move(answer));
        });
    }
    former.release("gate");
    world.pass(5'000);
    EXPECT_EQ(counted(world, Loss::reservations_in_doubt), GetParam() ? 0U : 1U);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(counted(world, Loss::reservations_in_doubt), 1U);
    EXPECT_EQ(counted(world, Loss::answered_by_former), 1U);
}

INSTANTIATE_TEST_SUITE_P(Each, DoubtsOfBatches, testing::Bool());

}  // namespace
}  // namespace rate_limit::world::failovers_test
