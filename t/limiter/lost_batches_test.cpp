// A batch of a lease whose answer is lost is asked for again, under its number, and Redis tells what it was
// granted: what passed is what is stored.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "t/limiter/scenario.h"
#include "t/world/server_session.h"

namespace rate_limit::world::lost_batches_test {
namespace {

/// Batches of ten, of a server to which a scripted one relays.
class LostBatches : public testing::Test {
protected:
    LostBatches() { world.setup.on_error = OnError::deny; }

    std::size_t pass(std::size_t count, const std::string& key = "k") { return world.admitted(count, key); }
    bool passes_at_last(const std::string& key = "k") {
        return world.until([&] { return pass(1, key) == 1; });
    }
    std::int64_t used(const std::string& key = "k") { return redis.used(stored_key(key)); }

    /// The answer of the server to that command, if it came now: granted and used.
    std::string replay(const Command& words) {
        Session session(redis.server());
        std::string bytes;
        const std::vector<std::string_view> views(words.begin(), words.end());
        append_command(bytes, views.data(), views.size());
        session.receive(bytes);
        const std::string reply = session.take_replies();
        return reply.substr(0, reply.rfind(':'));
    }

    static std::string granted(std::int64_t much, std::int64_t used) {
        return "*3\r\n" + integer(much) + integer(used);
    }

    /// All that passed is stored once all workers have ended, and nothing is in doubt.
    void expect_stored_in_the_end(std::int64_t passed, const std::string& key = "k") {
        EXPECT_TRUE(world.stop_all());
        EXPECT_EQ(used(key), passed);
        EXPECT_EQ(world.logged("[^0] in doubt|malformed"), 0U);
    }

    Scenario world{{"default", "1000r/h", "lease", 0, "main", 10}, 9'000};
    Redis redis{world.events, world.network, "10.0.0.9:6379"};
    Handler relay = relaying(redis, [](const Command&, ScriptedClient&, std::string answer) {
        return ScriptedReply(std::move(answer));
    });
    Scripted primary{world.events, world.network, Scenario::primary_address, relay};
};

/// Each batch's first answer, and that of each refund, is cut off after Redis has executed the command.
TEST_F(LostBatches, CountWhatPassedWhereEachAnswerIsLostOnce) {
    world.setup.limits = {{"auto", "2000r/h", "lease"},
                          {"fixed", "2000r/h", "lease", 0, "main", 20},
                          {"clock", "2000r/h", "lease", 0, "main", 20, "clock"}};
    std::set<Command> seen;
    std::size_t batches_seen = 0;
    std::size_t refunds_seen = 0;
    primary.handler = [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
        const ScriptedReply reply = relay(words, client);
        batches_seen += is_batch(words) ? 1 : 0;
        refunds_seen += is_refund(words) ? 1 : 0;
        const bool first = (is_batch(words) || is_refund(words)) &&
                           seen.insert({words[3], words[words.size() - 2], words.back()}).second;
        return first ? client.reset() : reply;
    };
    world.worker(1);
    std::map<std::string, std::int64_t> passed;
    std::map<std::string, std::size_t> denied;
    for (std::int64_t n = 0; n < 150; ++n) {
        for (const char* const limit : {"auto", "fixed", "clock"}) {
            const std::int64_t cost = 1 + n % 3;
            ASSERT_TRUE(world.until([&] {
                const std::string decided =
                    world.ask(RequestSetup("k", cost).under({limit}), &world.worker(denied[limit] % 2));
                denied[limit] += decided == "ERROR_DENIED" ? 1 : 0;
                return decided == "PASSED";
            }));
            passed[limit] += cost;
        }
    }
    EXPECT_GE(denied["auto"], 1U);
    EXPECT_GE(denied["fixed"], 10U);
    EXPECT_GE(denied["clock"], 10U);
    EXPECT_GT(batches_seen, 60U);
    EXPECT_TRUE(world.stop_all());
    EXPECT_GT(refunds_seen, 1U);
    EXPECT_EQ(redis.used(stored_key("k", "3600", "auto")), passed["auto"]);
    EXPECT_EQ(redis.used(stored_key("k", "3600", "fixed")), passed["fixed"]);
    EXPECT_EQ(redis.used(stored_key("k", "3600c", "clock")), passed["clock"]);
    EXPECT_EQ(world.logged("[^0] in doubt"), 0U);
}

/// The leaving worker learns of it, and gives it back.
TEST_F(LostBatches, GoBackAtAReload) {
    bool away = false;
    bool back = false;
    primary.handler = [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
        if (away && !back) {
            return client.reset();
        }
        const ScriptedReply reply = relay(words, client);
        if (is_batch(words) && !away) {
            away = true;
            return client.reset();
        }
        return reply;
    };
    EXPECT_EQ(pass(1), 0U);
    EXPECT_EQ(used(), 10);
    world.reload();
    back = true;
    EXPECT_TRUE(world.until([&] { return world.end_leaving() == 0; }));
    EXPECT_EQ(used(), 0);
    EXPECT_TRUE(passes_at_last());
    expect_stored_in_the_end(1);
}

/// It is lost until the window's end, and its successor has a name of its own.
TEST_F(LostBatches, OfAKilledWorkerAreNeverTakenForAnothers) {
    bool slow = true;
    primary.handler = [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
        ScriptedReply reply = relay(words, client);
        return is_batch(words) && slow ? hold("gate", std::move(reply.bytes)) : reply;
    };
    world.begin("k");
    EXPECT_TRUE(world.until([&] { return used() == 10; }));
    world.kill();
    slow = false;
    primary.release("gate");
    EXPECT_TRUE(passes_at_last());
    EXPECT_EQ(pass(4), 4U);
    EXPECT_EQ(used(), 20);
    const std::vector<Command> calls = batches(primary, "k");
    EXPECT_NE(calls[0][13], calls[1][13]);
    expect_stored_in_the_end(5 + 10);
}

/// The second call is on its way for ever. Neither the same call takes anything that comes after the worker
/// has asked again, nor one that a later batch has overtaken.
TEST_F(LostBatches, TakeNothingWhereTheirCallComesLate) {
    std::size_t seen = 0;
    primary.handler = [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
        return is_batch(words) && ++seen == 2 ? client.reset() : relay(words, client);
    };
    EXPECT_EQ(pass(10), 10U);
    EXPECT_EQ(pass(1), 0U);
    EXPECT_TRUE(world.until([&] { return batches(primary, "k").size() > 2; }));
    EXPECT_TRUE(passes_at_last());
    const std::vector<Command> calls = batches(primary, "k");
    EXPECT_EQ(calls[1][13], calls[2][13]);
    EXPECT_EQ(calls[1][14], calls[2][14]) << "it is asked for again under the same number";
    EXPECT_NE(calls[1][14], calls[0][14]);
    EXPECT_EQ(used(), 20);
    EXPECT_EQ(replay(calls[0]), granted(0, 20)) << "an earlier call takes nothing";
    EXPECT_TRUE(replay(calls[1]) == granted(0, 20) || replay(calls[1]) == granted(10, 20));
    EXPECT_EQ(pass(10), 10U);
    EXPECT_EQ(replay(calls[1]), granted(0, 30));
    EXPECT_EQ(used(), 30);
    expect_stored_in_the_end(21);
}

class BatchesThatNeverCame : public LostBatches, public testing::WithParamInterface<std::size_t> {};

/// It is asked for again in vain, because that answer is lost, too: the worker hears at last that nothing was
/// granted, whether there is a window (`GetParam()`: how much of it is spent) or not.
TEST_P(BatchesThatNeverCame, AreHeardOfAtLast) {
    std::size_t lost = 0;
    bool lossy = false;
    primary.handler = [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
        const bool counts = is_batch(words) && lossy;
        lost += counts ? 1 : 0;
        if (counts && lost == 1) {
            return client.reset();
        }
        const ScriptedReply reply = relay(words, client);
        return counts && lost == 2 ? client.reset() : reply;
    };
    const std::size_t spent = GetParam();
    const auto stored = static_cast<std::int64_t>(spent);
    EXPECT_EQ(pass(spent), spent);
    lossy = true;
    const std::size_t before = batches(primary, "k").size();
    EXPECT_EQ(pass(1), 0U);
    EXPECT_TRUE(world.until([&] { return batches(primary, "k").size() >= before + 3; }));
    const Command call = batches(primary, "k")[before];
    EXPECT_EQ(used(), stored);
    EXPECT_EQ(replay(call), granted(0, stored)) << "if it comes now, it takes nothing";
    EXPECT_TRUE(passes_at_last());
    EXPECT_EQ(pass(25), 25U);
    EXPECT_EQ(replay(call), granted(0, stored + 30));
    expect_stored_in_the_end(stored + 26);
}

INSTANTIATE_TEST_SUITE_P(Each, BatchesThatNeverCame, testing::Values(std::size_t{0}, std::size_t{10}));

}  // namespace
}  // namespace rate_limit::world::lost_batches_test
