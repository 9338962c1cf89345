// A lease while its store is away or late: tokens at hand are spent, then rate_limit_on_error decides, and
// what it lets in is charged when the store is back.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "t/limiter/one_machine.h"
#include "t/limiter/way.h"

namespace rate_limit::world::store_away_test {
namespace {

using Texts = std::vector<std::string>;

struct Away {
    OnError decides;
    const char* rate;
    Texts errors;             // outcomes once all that is at hand is spent
    std::int64_t back;        // stored when the store is back
    const char* then;         // the outcome of the next request
    std::int64_t in_the_end;  // stored then
};

class StoreAway : public testing::TestWithParam<Away> {};

TEST_P(StoreAway, SpendsWhatIsAtHandAndThenErrorsDecide) {
    const Away& away = GetParam();
    OneMachine world({"default", away.rate, "lease", 0, "main", 10});
    world.setup.on_error = away.decides;
    const auto used = [&] { return world.primary.used(stored_key("k")); };
    EXPECT_EQ(world.admitted(4, "k"), 4U);
    EXPECT_EQ(used(), 10);
    world.primary.kill(true);
    world.pass(10);
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(world.ask("k"), "PASSED");
    }
    Texts errors;
    for (std::size_t i = 0; i < away.errors.size(); ++i) {
        errors.push_back(world.ask("k"));
    }
    EXPECT_EQ(errors, away.errors);
    const ClientRequest& request = world.begin("other");
    EXPECT_TRUE(request.is_decided()) << "nobody waits for what is known to be away";
    world.primary.start();
    world.pass(30'000);
    EXPECT_EQ(used(), away.back);
    EXPECT_EQ(world.ask("k"), away.then);
    EXPECT_EQ(used(), away.in_the_end);
}

INSTANTIATE_TEST_SUITE_P(
    Each, StoreAway,
    testing::Values(Away{OnError::allow, "100r/h", Texts(3, "ERROR_ALLOWED"), 13, "PASSED", 23},
                    Away{OnError::deny, "100r/h", Texts(3, "ERROR_DENIED"), 10, "PASSED", 20},
                    Away{OnError::local,
                         "12r/h",
                         {"ERROR_LOCAL", "ERROR_LOCAL", "REJECTED", "REJECTED"},
                         12,
                         "REJECTED",
                         12}));

/// The memory of the machine admits what is left, and what it admitted is stored when the store is back, as
/// is what came back meanwhile.
class LocalWhileAway : public testing::TestWithParam<Way> {
protected:
    LocalWhileAway() { world.setup.on_error = OnError::local; }

    ClientRequest& begin(const RequestSetup& what, std::size_t machine = 0) {
        ClientRequest& request = world.begin(what, &world.worker(0, machine));
        world.pass(5);
        return request;
    }

    std::string ask(const RequestSetup& what, bool exempt = false) {
        ClientRequest& request = begin(what);
        request.is_admitted() ? request.end(exempt) : void();
        shown = request.quota().used;
        return outcome(request);
    }

    /// Another machine learns this of it.
    std::int64_t used(const std::string& key) {
        ClientRequest& request = begin({key, 0}, 1);
        request.end(true);
        return request.quota().used;
    }

    OneMachine world{GetParam().limit, 2'000};
    std::int64_t shown = 0;
};

TEST_P(LocalWhileAway, AdmitsWhatIsLeftAndStoresItLater) {
    EXPECT_EQ(ask({"known", 4}), "PASSED");
    std::vector<ClientRequest*> open{&begin({"stays", 4}), &begin({"free", 4})};
    world.primary.kill(true);
    world.pass(10);
    EXPECT_EQ(ask({"known", 7}), "REJECTED");
    EXPECT_EQ(ask({"known", 5}), "ERROR_LOCAL");
    EXPECT_EQ(ask({"known", 2}), "REJECTED");
    EXPECT_EQ(ask({"known", 1}), "ERROR_LOCAL");
    EXPECT_EQ(shown, 10);
    EXPECT_EQ(ask({"known", 1}), "REJECTED");
    EXPECT_EQ(ask({"much", 11}), "REJECTED") << "never fits";
    std::size_t admitted = 0;
    for (std::size_t i = 0; i < 40; ++i) {
        const std::string decided = world.ask("new", &world.worker(i % 2));
        admitted += decided == "ERROR_LOCAL" ? 1 : 0;
    }
    EXPECT_EQ(admitted, 10U) << "over both workers";
    EXPECT_EQ(ask({"exempt", 3}, true), "ERROR_LOCAL");
    EXPECT_EQ(ask({"exempt", 10}), "ERROR_LOCAL") << "what is exempt takes nothing";
    open[0]->end();
    open[1]->end(true);
    world.primary.start();
    world.pass(30'000);
    for (const auto& [key, due] : std::map<std::string, std::int64_t>{
             {"known", 10}, {"new", 10}, {"exempt", 10}, {"much", 0}, {"stays", 4}, {"free", 0}}) {
        EXPECT_EQ(used(key), due) << key;
    }
    EXPECT_EQ(ask("known"), "REJECTED");
    EXPECT_EQ(ask({"free", 10}), "PASSED");
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("[^0] in doubt|[^0] dropped|are lost"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Each, LocalWhileAway,
                         testing::Values(Way{"window", {"default", "10r/h", "charge_refund"}},
                                         Way{"bucket", {"default", "1r/h", "charge_refund", 10}}));

/// The smaller of two bursts is full again when the store is back; what the larger one owes is stored.
TEST(BucketOfTwoBursts, OwesWhatTheLargerOneHasTaken) {
    OneMachine world({"default", "1r/s", "charge_refund", 1}, 2'000);
    world.setup.on_error = OnError::local;
    EXPECT_EQ(world.ask("warm"), "PASSED");
    world.primary.kill(true);
    world.pass(10);
    EXPECT_EQ(world.ask("k"), "ERROR_LOCAL");
    world.setup.limits.front().burst = 1'000;
    world.reload();
    EXPECT_EQ(world.ask({"k", 900}), "ERROR_LOCAL");
    world.setup.limits.front().burst = 1;
    world.reload();
    world.pass(3'000);
    world.primary.start();
    EXPECT_TRUE(world.until(
        [&world] { return world.until_full(world.primary, "rl:default/1b:k") > 800'000'000'000; }));
}

/// Tokens of a bucket die within a second.
class LeasedBucketAway : public testing::Test {
protected:
    LeasedBucketAway() {
        world.setup.on_error = OnError::deny;
        EXPECT_EQ(world.ask("k"), "PASSED");
    }

    OneMachine world{{"default", "100r/s", "lease", 2'000, "main", 1'000}};
};

TEST_F(LeasedBucketAway, IsSpentUntilItDies) {
    world.primary.kill(true);
    std::size_t spent = 0;
    std::string decided;
    for (const Millis begun = world.at(); world.at() < begun + 2'000; world.pass(10)) {
        decided = world.ask("k");
        spent += decided == "PASSED" ? 1 : 0;
    }
    EXPECT_EQ(decided, "ERROR_DENIED");
    EXPECT_GE(spent, 1U);
    EXPECT_LT(spent, 110U) << "not all were spent";
    const ClientRequest& unknown = world.begin("unknown");
    world.pass(5);
    EXPECT_EQ(outcome(unknown), "ERROR_DENIED");
    EXPECT_FALSE(unknown.verdicts()[0].known) << "headers do not tell of a bucket that nobody knows";
    world.primary.start();
    EXPECT_TRUE(world.until([this] { return world.ask("k") == "PASSED"; }));
}

TEST_F(LeasedBucketAway, IsNotHeldUpByTheBatchOfAKilledWorker) {
    world.primary.pause();
    world.begin("other");
    world.pass(5);
    world.kill();
    world.primary.resume();
    EXPECT_TRUE(world.until([this] { return world.ask("other") == "PASSED"; }));
}

/// Batches of ten that a server grants late; it answers nothing meanwhile, on no connection.
class LateBatches : public testing::Test {
protected:
    LateBatches() {
        world.setup.stores.front().check_timeout = 300;
        EXPECT_EQ(world.ask("warm"), "PASSED");
        slow = true;
    }

    std::size_t asked() const { return calls(10).size() + calls(15).size(); }

    std::int64_t charged() const {
        std::int64_t sum = 0;
        for (const Command& words : calls(8)) {
            sum += std::stoll(words[4]);
        }
        for (const Command& words : primary.commands("hincrby")) {
            sum += words[1] == stored_key("k") ? std::stoll(words[3]) : 0;
        }
        return sum;
    }

    /// Scripts for the key by how many words their call has.
    std::vector<Command> calls(std::size_t words) const {
        std::vector<Command> found;
        for (const Command& command : primary.commands("evalsha")) {
            if (command.size() == words && command[3] == stored_key("k")) {
                found.push_back(command);
            }
        }
        return found;
    }

    void come() {
        slow = false;
        primary.release("gate");
        world.pass(2);
    }

    /// The next request's used.
    std::int64_t next_used() {
        ClientRequest& request = world.begin("k");
        world.pass(2);
        EXPECT_EQ(outcome(request), "PASSED");
        return request.quota().used;
    }

    const RequestSetup refused = RequestSetup("k").or_else(OnError::deny);
    Scenario world{{"default", "100r/h", "lease", 0, "main", 10}, 20'000};
    bool slow = false;
    std::map<std::string, std::int64_t> used;
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     [this](const Command& words, ScriptedClient&) -> ScriptedReply {
                         if (words[0] == "hincrby") {
                             return integer(used[words[1]] += std::stoll(words[3]));
                         }
                         if (slow && words[0] == "ping") {
                             return hold("gate", "+PONG\r\n");
                         }
                         if (words[0] != "evalsha" || words.size() == 9) {
                             return fallback(words);
                         }
                         const Millis reset = Loop::usual_wall_clock + 1'800'000;
                         if (words.size() == 8) {
                             return integers({used[words[3]] += std::stoll(words[4]), reset});
                         }
                         const std::int64_t want = std::stoll(words[5]);
                         std::string answer = integers({want, used[words[3]] += want, reset});
                         return slow ? hold("gate", std::move(answer)) : ScriptedReply(std::move(answer));
                     }};
};

TEST_F(LateBatches, AreKeptForTheNextRequests) {
    const ClientRequest& first = world.begin(refused);
    world.pass(400);
    EXPECT_EQ(outcome(first), "ERROR_DENIED");
    EXPECT_EQ(first.waited(), 300U);
    const ClientRequest& second = world.begin(refused);
    world.pass(400);
    EXPECT_EQ(outcome(second), "ERROR_DENIED");
    EXPECT_LT(second.waited(), 250U) << "it does not wait as long again";
    come();
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(world.ask(refused), "PASSED");
    }
    EXPECT_EQ(asked(), 1U);
}

TEST_F(LateBatches, PayForWhoErrorsLetInAndStillRuns) {
    ClientRequest& request = world.begin({"k", 4});
    world.pass(400);
    EXPECT_EQ(outcome(request), "ERROR_ALLOWED");
    come();
    request.end();
    EXPECT_EQ(next_used(), 5);
    EXPECT_EQ(asked(), 1U);
    EXPECT_EQ(charged(), 0) << "not in Redis";
}

TEST_F(LateBatches, DoNotPayForWhoHasEndedBefore) {
    EXPECT_EQ(world.ask("k"), "ERROR_ALLOWED");
    world.pass(100);
    EXPECT_EQ(charged(), 0) << "it is not charged at once";
    come();
    EXPECT_TRUE(world.until([&] { return charged() == 1; }));
    world.pass(2);
    EXPECT_EQ(next_used(), 2);
    EXPECT_EQ(asked(), 1U);
    EXPECT_EQ(charged(), 1) << "once";
}

TEST_F(LateBatches, AreAskedForAgainWhereTheConnectionBreaks) {
    std::vector<const ClientRequest*> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.push_back(&world.begin(refused));
    }
    world.pass(2);
    EXPECT_EQ(asked(), 1U);
    primary.drop();
    world.pass(1);
    for (const ClientRequest* request : waiting) {
        EXPECT_EQ(outcome(*request), "ERROR_DENIED");
    }
    slow = false;
    EXPECT_TRUE(world.until([&] { return asked() >= 2; }));
    world.pass(2);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(world.ask(refused), "PASSED");
    }
    const std::vector<Command> batches = calls(15);
    EXPECT_EQ(batches[0][14], batches[1][14]) << "under the same number";
    EXPECT_EQ(world.logged("[^0] in doubt"), 0U);
}

}  // namespace
}  // namespace rate_limit::world::store_away_test
