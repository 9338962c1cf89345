// Operators are told of looks and acts whose primary is away, refuses, or does not say what it did; and
// what a reset makes of charges that wait, run or are in doubt.

#include <string>
#include <utility>
#include <vector>

#include "operator/page/key_html.h"
#include "t/limiter/checked.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/poster.h"

namespace rate_limit::world::acts_test {
namespace {

/// An act gives back, which no charge does.
bool gives_back(const Command& words) {
    return is_write(words) && words.size() == 7 && words[6] == "keep";
}

bool charges(const Command& words) {
    return words[0] == "hincrby" || (is_write(words) && words.size() == 8);
}

/// A primary that has used 3 of each window, and answers what gives back as the test says.
class Acts : public testing::Test {
protected:
    Acts() {
        world.setup.stores.push_back(Scenario::store_at("10.0.0.9:6379", 1'000, "gone"));
        world.setup.limits.push_back({"two", "5r/h"});
        world.setup.limits.push_back({"two", "5r/h"});
        world.setup.limits.back().window = "clock";
        world.setup.limits.push_back({"gone", "5r/h"});
        world.setup.limits.back().store = "gone";
        world.setup.limits.push_back({"mine", "5r/h"});
        world.setup.limits.back().store = "local";
        EXPECT_TRUE(has(answer_to(world, "do=reset&key=a&limit=core"), "\"used\":0"));
        EXPECT_EQ(given(), 1U);
    }

    std::size_t given() const {
        const auto all = primary.commands();
        return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), gives_back));
    }

    /// The answer to what gives back; to the nth of such commands.
    std::vector<ScriptedReply> answers;
    const Millis reset = Loop::usual_wall_clock + 3'000'000;
    const std::string done = integers({0, reset});
    bool reads = true;
    std::size_t nth = 0;
    Scenario world{{"core", "5r/h"}, 1'000};
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     [this](const Command& words, ScriptedClient& client) -> ScriptedReply {
                         if (words[0] == "hmget") {
                             return reads ? ScriptedReply(hmget(3, reset)) : no_reply();
                         }
                         if (!gives_back(words)) {
                             return is_write(words) ? ScriptedReply(done) : fallback(words);
                         }
                         const ScriptedReply answer = nth < answers.size() ? answers[nth++] : done;
                         return answer.bytes == "dies" ? client.reset() : answer;
                     }};
};

const std::string changed = integers({0, 0});

TEST_F(Acts, SayWhatBecameOfThem) {
    const std::string unsaid = "^503 InDoubt: .*did not say that it was done: ";
    const std::string not_again = "\\. It is not asked again";
    const std::string refused = "^503 StoreUnavailable: .*Nothing was done";
    const std::pair<std::vector<ScriptedReply>, std::string> cases[] = {
        {{nil()}, unsaid},
        {{array({})}, unsaid},
        {{integer(3)}, unsaid},
        {{array({bulk("x"), bulk("y")})}, unsaid},
        {{no_reply()}, unsaid + "no answer in check_timeout" + not_again},
        {{"dies"}, unsaid + "the primary did not answer" + not_again},
        {{error("NOPERM no")}, refused},
        {{error("READONLY no")}, refused},
        {{error("OOM no")}, refused},
        {{error("ERR no")}, refused},
        {{changed, changed}, "^409 Conflict: .*changed twice"},
        {{changed, done}, "\"used\":0"},
    };
    for (const auto& [says, what] : cases) {
        for (const std::string does : {"do=reset", "do=add&cost=2"}) {
            answers = says;
            nth = 0;
            const std::size_t before = given();
            const Millis begun = world.at();
            EXPECT_TRUE(has(answer_to(world, does + "&key=a&limit=core"), what));
            EXPECT_LE(world.at() - begun, 1'100);
            EXPECT_EQ(
                world.logged(
                    "rate limit \"core\" of \"main\", id [0-9a-f]{16}: (reset|2 given back) in 3600 s: 3 "
                    "used, in doubt whether it was done, by the console"),
                what.find("InDoubt") != std::string::npos ? 1U : 0U);
            world.forget_lines();
            world.pass(60'000);
            EXPECT_EQ(given(), before + says.size()) << "nothing is tried again later";
            answers.clear();
            EXPECT_TRUE(has(answer_to(world, "do=reset&key=a&limit=core"), "\"used\":0")) << what;
        }
    }
}

/// A key has two windows of one period.
TEST_F(Acts, AreInDoubtWhereTheyAreDoneInPart) {
    const ScriptedReply refused = error("OOM no");
    const std::string in_part = "^503 InDoubt: .*It was done, or may have been, to some of the windows";
    const std::pair<std::vector<ScriptedReply>, std::string> cases[] = {
        {{done, done}, "\"used\":0.*\"used\":0"},
        {{done, refused}, in_part},
        {{refused, done}, in_part},
        {{done, changed, changed}, "^503 InDoubt: .*changed twice.*It was done, or may have been, to some"},
        {{refused, refused}, "^503 StoreUnavailable: .*Nothing was done"},
        {{changed, changed, changed, changed}, "^409 Conflict: .*changed twice.*Nothing was done"},
        {{no_reply(), refused}, "^503 InDoubt: .*did not say that it was done"},
        {{refused, no_reply()}, "^503 InDoubt: .*did not say that it was done"},
    };
    for (const auto& [says, what] : cases) {
        answers = says;
        nth = 0;
        const std::string text = answer_to(world, "do=reset&key=a&limit=two");
        EXPECT_TRUE(has(text, what));
        EXPECT_EQ(text.find("Nothing was done") != std::string::npos,
                  what.find("Nothing") != std::string::npos);
        answers.clear();
        world.pass(10'000);
        EXPECT_TRUE(has(answer_to(world, "do=reset&key=a&limit=two"), "\"used\":0")) << what;
    }
}

TEST_F(Acts, DoNothingWhereTheirPrimaryIsAway) {
    for (const char* does : {"", "do=reset&", "do=add&cost=1&"}) {
        EXPECT_TRUE(
            has(answer_to(world, std::string(does) + "key=a&limit=gone"),
                "^503 StoreUnavailable: .*\"gone\" cannot be asked: the primary of the shard is not up\\. "
                "Nothing was done"));
    }
    EXPECT_TRUE(has(answer_to(world, "key=a"), "^503 StoreUnavailable: .*\"gone\"")) << "one of all";
    EXPECT_TRUE(has(answer_to(world, "key=a&store=main"), "\"used\":3"));
    EXPECT_TRUE(has(answer_to(world, "do=reset&key=a&limit=mine"), "\"windows\":\\[\\]"));
    reads = false;
    EXPECT_TRUE(has(answer_to(world, "do=reset&key=a&limit=core"),
                    "^503 StoreUnavailable: .*no answer in check_timeout\\. Nothing was done"));
    EXPECT_EQ(given(), 1U);
}

/// Neither where the store did not answer, nor where the act names no key, so that nobody was asked.
TEST_F(Acts, SayThatNothingIsUsedOnlyWhereThatIsKnown) {
    const auto page = [this](const std::string& posted) {
        PostedAct act(world.worker(), posted);
        EXPECT_TRUE(world.until([&] { return act.is_over(); })) << posted;
        EXPECT_EQ(act.result().error, ActError::none) << posted;
        std::string text;
        world.worker().loop().turn([&] {
            text = write_whole(*tell_act_html(world.worker().configuration(), {}, act.form, act.result()));
        });
        const bool nothing = text.find("nothing is used") != std::string::npos;
        return text.find("What is used is not known: the store did not answer.") == std::string::npos
                   ? (nothing ? "nothing" : "")
                   : (nothing ? "both" : "away");
    };
    for (const std::string does : {"do=ban", "do=allow", "do=clear"}) {
        EXPECT_EQ(page(does + "&key=a&limit=gone"), std::string("away")) << does;
    }
    for (const std::string limit : {"gone", "mine"}) {
        for (const std::string does : {"do=off", "do=enforce&percent=5", "do=clear"}) {
            EXPECT_EQ(page(does + "&limit=" + limit), std::string()) << does;
        }
    }
    for (const std::string does : {"", "do=ban&", "do=clear&"}) {
        EXPECT_EQ(page(does + "key=a&limit=mine"), std::string("nothing")) << does;
    }
}

/// It is sent once, whether the primary has taken it before it died or not.
TEST(ChargesInDoubt, StayThatWhenTheirWindowIsReset) {
    enum class Dies { never, before, after };
    Dies dies = Dies::never;
    std::int64_t used = 0;
    std::size_t sent = 0;
    Scenario world({"core", "9r/h"}, 1'000);
    const Millis reset = world.at(3'000'000);
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                         if (words[0] == "hmget") {
                             return hmget(used, reset);
                         }
                         if (!is_write(words)) {
                             return fallback(words);
                         }
                         sent += charges(words) ? 1 : 0;
                         used += charges(words) && dies != Dies::before ? 1 : 0;
                         used = gives_back(words) ? 0 : used;
                         return dies != Dies::never     ? client.reset()
                                : words[0] == "hincrby" ? ScriptedReply(integer(used))
                                                        : ScriptedReply(integers({used, reset}));
                     });
    EXPECT_EQ(world.ask("a"), "PASSED");
    world.pass(10);
    std::size_t doubtful = 0;
    for (const Dies how : {Dies::before, Dies::after}) {
        dies = how;
        EXPECT_EQ(world.ask("a"), "PASSED");
        world.pass(10);
        dies = Dies::never;
        world.pass(5'000);
        EXPECT_TRUE(has(answer_to(world, "key=a&limit=core"), "\"waiting\":0"));
        const std::size_t before = sent;
        EXPECT_TRUE(has(answer_to(world, "do=reset&key=a&limit=core"), "\"used\":0"));
        world.pass(5'000);
        EXPECT_EQ(sent, before) << "nothing is sent again";
        EXPECT_EQ(world.ask("a"), "PASSED");
        world.pass(5'000);
        EXPECT_EQ(used, 1);
        EXPECT_EQ(sent, before + 1);
        EXPECT_EQ(counted(world, Loss::charges_in_doubt), ++doubtful);
        EXPECT_EQ(counted(world, Write::charges_dropped), 0U);
    }
    EXPECT_EQ(sent, 5U);
}

/// Nothing is given back twice, and what runs is charged after the reset.
TEST(ChargesUnderWay, AreGivenBackOnceByAReset) {
    bool full = false;
    Scenario world({"core", "9r/h"}, 60'000);
    world.setup.limits.push_back({"refund", "9r/h", "charge_refund"});
    world.setup.limits.push_back({"mine", "9r/h"});
    world.setup.limits.back().store = "local";
    Redis redis(world.events, world.network, "10.0.0.9:6379");
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     relaying(redis, [&](const Command& words, ScriptedClient&, std::string answer) {
                         return full && is_write(words) && !gives_back(words)
                                    ? ScriptedReply(error("OOM command not allowed"))
                                    : ScriptedReply(std::move(answer));
                     }));
    const auto reset = [&](const std::string& limit) {
        return answer_to(world, "do=reset&key=a&limit=" + limit);
    };
    const auto look = [&](const std::string& limit) {
        world.pass(100);
        return answer_to(world, "key=a&limit=" + limit);
    };
    for (const char* limit : {"core", "mine", "refund"}) {
        const RequestSetup request = RequestSetup("a").under({limit});
        ClientRequest& running = world.begin(request);
        EXPECT_EQ(world.ask(request), "PASSED");
        const bool reserved = std::string(limit) == "refund";
        EXPECT_TRUE(has(look(limit), reserved ? "\"used\":2" : "\"used\":1.*\"in_flight\":1")) << limit;
        EXPECT_TRUE(has(reset(limit), reserved ? "\"used\":0" : "\"used\":0.*\"in_flight\":1")) << limit;
        running.end(reserved);
        EXPECT_TRUE(has(look(limit), reserved ? "\"windows\":\\[\\]" : "\"used\":1.*\"in_flight\":0"))
            << limit;
    }
    full = true;
    EXPECT_EQ(world.admitted(3, RequestSetup("a").under({"core"})), 3U);
    EXPECT_TRUE(has(look("core"), "\"waiting\":3"));
    EXPECT_TRUE(has(reset("core"), "\"used\":0.*\"waiting\":0"));
    EXPECT_EQ(counted(world, Write::charges_expired), 3U) << "which is told, and no loss";
    EXPECT_EQ(counted(world, Write::charges_dropped), 0U);
    full = false;
    EXPECT_EQ(world.ask(RequestSetup("b").under({"core"})), "PASSED");
    world.pass(10'000);
    EXPECT_TRUE(has(look("core"), "\"used\":0"));
    EXPECT_EQ(counted(world, Write::charges_stored), 3U) << "a's two of before, and b's";
}

/// The primary's last word stands for a check.
TEST(AReset, AdmitsTheNextRequestWhereAReplicaHasNotHeardOfIt) {
    OneMachine world({"core", "5r/h"});
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    const Millis reset = world.at(3'000'000);
    Scripted replica(world.events, world.network, Scenario::replica_address, reading(5, reset));
    for (int i = 0; i < 20; ++i) {
        const std::string key = "key" + std::to_string(i);
        Hash window;
        window.set("used", "5");
        window.set("reset", std::to_string(reset));
        world.primary.server().databases().front().make(stored_key(key, "3600", "core")).content = window;
        if (i % 2 == 0) {
            EXPECT_EQ(world.ask(key), "REJECTED");
        }
        EXPECT_EQ(act(world, "do=reset&limit=core&key=" + key).error, ActError::none);
        EXPECT_EQ(world.ask(key), "PASSED");
    }
}

TEST(AReset, AdmitsAtOtherMachinesWithinTenSeconds) {
    for (const char* mode : {"check_charge", "charge_refund", "lease"}) {
        SCOPED_TRACE(mode);
        OneMachine world({"core", "6r/h", mode});
        WorkerProcess& there = world.worker(0, 1);
        EXPECT_EQ(world.admitted(7, "a"), 6U);
        ASSERT_TRUE(world.until([&] { return world.ask("a", &there) == "REJECTED"; }));
        world.pass(20'000);
        EXPECT_EQ(world.ask("a", &there), "REJECTED");
        const Window before = world.primary.window(stored_key("a", "3600", "core"));
        EXPECT_TRUE(has(answer_to(world, "do=reset&key=a&limit=core"), "\"used\":0"));
        EXPECT_TRUE(world.until([&] { return world.ask("a", &there) == "PASSED"; }, 10'000));
        EXPECT_EQ(world.ask("a"), "PASSED");
        world.pass(10);
        EXPECT_EQ(world.primary.window(stored_key("a", "3600", "core")).reset, before.reset);
    }
}

/// Tokens at hand count for nothing after it, and are told as lost. Those of other machines are theirs.
TEST(AReset, GivesTheWholeLimitAndNotOneRequestMore) {
    LimitSetup limit{"core", "200r/h", "lease"};
    limit.lease = 10;
    OneMachine world(limit);
    world.worker(1);
    WorkerProcess& there = world.worker(0, 1);
    const auto window = [&](const std::string& does = "", WorkerProcess* at = nullptr) {
        return act(world, does + "key=a&limit=core", at).limits.front().windows.front();
    };
    for (std::size_t i = 0; i < 23; ++i) {
        EXPECT_EQ(world.ask("a", &world.worker(i % 2)), "PASSED");
    }
    const SeenWindow before = window();
    EXPECT_GT(before.tokens, 0);
    EXPECT_EQ(before.used - before.tokens, 23);
    const SeenWindow after = window("do=reset&");
    EXPECT_EQ(after.used, 0);
    EXPECT_EQ(after.tokens, 0);
    EXPECT_EQ(after.remaining, 200);
    EXPECT_EQ(counted(world, TokenEvent::lost), static_cast<std::uint64_t>(before.tokens));
    EXPECT_EQ(world.admitted(250, "a"), 200U);
    EXPECT_EQ(world.primary.used(stored_key("a", "3600", "core")), 200);

    (void)window("do=reset&");
    ASSERT_TRUE(world.until([&] { return world.ask("a", &there) == "PASSED"; }));
    const std::int64_t held = window("", &there).tokens;
    EXPECT_GT(held, 0);
    (void)window("do=reset&");
    const std::size_t here = world.admitted(250, "a");
    EXPECT_LE(here, 200U);
    const std::size_t all = here + world.admitted(250, "a", &there);
    EXPECT_GE(all, 200U);
    EXPECT_LE(all, 200U + static_cast<std::size_t>(held));
}

}  // namespace
}  // namespace rate_limit::world::acts_test
