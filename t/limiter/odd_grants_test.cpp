// Whatever a primary answers to a reservation, a batch or a bucket's request but what the script can say is
// for rate_limit_on_error, brings nothing, and nothing is given back of it.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "t/limiter/scenario.h"

namespace rate_limit::world::odd_grants_test {
namespace {

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
constexpr Millis reset = Loop::usual_wall_clock + 1'800'000;

using Cases = std::vector<std::pair<const char*, std::string>>;

std::string many(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) {
        all += text;
    }
    return all;
}

/// 10 of 100 are asked for.
const Cases any_mode = {
    {"OOM", error("OOM command not allowed")},
    {"WRONGTYPE", error("WRONGTYPE Operation against a wrong kind")},
    {"LOADING", error("LOADING Redis is loading the dataset")},
    {"READONLY", error("READONLY You can't write")},
    {"MISCONF", error("MISCONF Redis is configured")},
    {"BUSY", error("BUSY Redis is busy")},
    {"NOAUTH", error("NOAUTH needed")},
    {"NOPERM", error("NOPERM no")},
    {"MOVED", error("MOVED 3999 127.0.0.1:1")},
    {"an error", error("ERR what")},
    {"an empty error", error("")},
    {"a status", simple("OK")},
    {"nil", nil()},
    {"an integer", integer(10)},
    {"a string", bulk("10")},
    {"an empty array", "*0\r\n"},
    {"no array", "*-1\r\n"},
    {"deeply nested", many("*1\r\n", 40) + ":1\r\n"},
};

const Cases windows = {
    {"a nil", array({integer(10), nil(), integer(reset)})},
    {"a word", array({bulk("x"), integer(10), integer(reset)})},
    {"too few", integers({10, reset})},
    {"too many", integers({10, 10, reset, 2})},
    {"a nested array", array({integers({10, 10, reset})})},
    {"nested in it", array({integer(10), integers({10}), integer(reset)})},
    {"minus one", integers({-1, 0, 0})},
    {"minus one and a reset", integers({-1, 10, reset})},
    {"used below 0", integers({10, -10, reset})},
    {"more than was wanted", integers({11, 11, reset})},
    {"far more", integers({huge, huge, reset})},
    {"less than was needed", integers({2, 2, reset})},
    {"more than is used", integers({10, 9, reset})},
    {"beyond the limit", integers({10, 101, reset})},
    {"far beyond the limit", integers({10, huge, reset})},
    {"an end that has passed", integers({10, 10, 1'000})},
    {"no end", integers({10, 10, 0})},
    {"an end too far away", integers({10, 10, huge})},
    {"all huge", integers({huge, huge, huge})},
    {"nothing where all is left", integers({0, 0, 0})},
    {"nothing where enough is left", integers({0, 90, reset})},
    {"nothing, without an end", integers({0, 100, 0})},
};

/// The script of charge_refund opens no window where it grants nothing, so that none has ended.
const Cases reserved = {
    {"less than all", integers({9, 9, reset})},
    {"nothing, of a window that has ended", integers({0, 100, 1'000})},
};

constexpr std::int64_t token = 3'600'000'000'000 / 100;
constexpr std::int64_t micros = 1'700'000'000'000'000;

const Cases buckets = {
    {"a nil", array({integer(10), nil(), integer(1), integer(1), integer(1), integer(1), integer(1)})},
    {"too few", integers({10, 90, 10 * token, 0, micros})},
    {"minus one", integers({-1, 0, 0, 0, micros, 0, 0})},
    {"more than was wanted", integers({11, 89, 11 * token, 0, micros, 0, 0})},
    {"far more", integers({huge, huge, huge, huge, micros, 0, 0})},
    {"less than was needed", integers({9, 91, 9 * token, 0, micros, 0, 0})},
    {"nothing where enough is left", integers({0, 10, 90 * token, 0, micros, 0, 0})},
    {"more left than it holds", integers({10, 101, 10 * token, 0, micros, 0, 0})},
    {"taken, and full", integers({10, 90, 0, 0, micros, 0, 0})},
    {"a time before all", integers({10, 90, 10 * token, 0, -1, 0, 0})},
    {"one after all", integers({10, 90, 10 * token, 0, huge, 0, 0})},
    {"full in a hundred years", integers({10, 90, 3'155'760'000'000'000'000, 0, micros, 0, 0})},
};

/// One world for one answer: `reply` to every call of that script.
struct OddWorld {
    OddWorld(const LimitSetup& limit, std::string answer) : world(limit), reply(std::move(answer)) {}

    std::string ask(std::int64_t cost, OnError decides = OnError::deny) {
        return world.ask(RequestSetup("k", cost).or_else(decides));
    }

    Scenario world;
    std::string reply;
    Scripted primary{
        world.events, world.network, Scenario::primary_address,
        [this](const Command& words, ScriptedClient&) { return is_write(words) ? reply : fallback(words); }};
};

void expect_denied_and_asked_once(const LimitSetup& limit, std::int64_t cost, const Cases& cases) {
    for (const auto& [name, reply] : cases) {
        SCOPED_TRACE(name);
        OddWorld odd(limit, reply);
        const Millis before = odd.world.at();
        EXPECT_EQ(odd.ask(cost), "ERROR_DENIED");
        EXPECT_LT(odd.world.at() - before, 5) << "no wait for check_timeout";
        EXPECT_EQ(odd.world.logged("could not be checked: "), 1);
        odd.world.pass(30'000);
        EXPECT_EQ(odd.primary.writes().size(), 1U) << "it is asked once, and nothing is given back";
    }
}

const LimitSetup charge_refund{"default", "100r/h", "charge_refund"};
const LimitSetup bucket{"default", "100r/h", "charge_refund", 100};
const LimitSetup lease{"default", "100r/h", "lease", 0, "main", 10};

TEST(OddGrants, OfReservationsAreForOnError) {
    expect_denied_and_asked_once(charge_refund, 10, any_mode);
    expect_denied_and_asked_once(charge_refund, 10, windows);
    expect_denied_and_asked_once(charge_refund, 10, reserved);
}

TEST(OddGrants, OfBucketsAreForOnError) {
    expect_denied_and_asked_once(bucket, 10, any_mode);
    expect_denied_and_asked_once(bucket, 10, buckets);
}

TEST(OddGrants, OfBatchesAreForOnError) {
    expect_denied_and_asked_once(lease, 3, any_mode);
    expect_denied_and_asked_once(lease, 3, windows);
}

TEST(OddGrants, LetRequestsPassWhereErrorsAllow) {
    for (const auto& [limit, reply] : {std::pair(charge_refund, integers({11, 11, reset})),
                                       std::pair(bucket, integers({11, 89, 11 * token, 0, micros, 0, 0}))}) {
        OddWorld odd(limit, reply);
        EXPECT_EQ(odd.ask(10, OnError::allow), "ERROR_ALLOWED");
        EXPECT_EQ(odd.world.logged("could not be checked: malformed"), 1);
    }
}

TEST(SoundGrants, AreBelievedAndShown) {
    OddWorld window(charge_refund, integers({10, 12, reset}));
    EXPECT_EQ(window.ask(10), "PASSED");
    OddWorld of_bucket(bucket, integers({10, 90, 10 * token, 0, micros, 0, 0}));
    const ClientRequest& request = of_bucket.world.begin({"k", 10});
    of_bucket.world.pass(5);
    EXPECT_EQ(outcome(request), "PASSED");
    EXPECT_EQ(request.quota().limit, 100);
    EXPECT_EQ(request.quota().used, 10);
    EXPECT_EQ(request.quota().remaining, 90);
}

TEST(OddBatches, LeaveNothingAtHand) {
    for (const Cases& cases : {any_mode, windows}) {
        for (const auto& [name, reply] : cases) {
            SCOPED_TRACE(name);
            OddWorld odd(lease, reply);
            (void)odd.ask(3);
            odd.reply = integers({0, 100, reset});
            std::string decided;
            EXPECT_TRUE(odd.world.until([&] { return (decided = odd.ask(1)) != "ERROR_DENIED"; }));
            EXPECT_EQ(decided, "REJECTED");
        }
    }
}

/// The connection breaks, and the batch may be asked for again.
TEST(OddBatches, ThatAreNoRespBreakTheConnection) {
    for (const char* const bytes : {"HTTP/1.1 400 Bad Request\r\n\r\n", "*3\r\n:10\r\n"}) {
        Scenario world(lease);
        bool sound = false;
        Scripted primary(world.events, world.network, Scenario::primary_address,
                         [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                             if (!is_write(words)) {
                                 return fallback(words);
                             }
                             if (sound) {
                                 return integers({0, 100, reset});
                             }
                             client.send(bytes);
                             client.close();
                             return no_reply();
                         });
        const RequestSetup asks = RequestSetup("k", 3).or_else(OnError::deny);
        EXPECT_EQ(world.ask(asks), "ERROR_DENIED");
        EXPECT_GE(primary.writes().size(), 1U);
        sound = true;
        std::string decided;
        EXPECT_TRUE(world.until([&] { return (decided = world.ask(asks)) != "ERROR_DENIED"; }));
        EXPECT_EQ(decided, "REJECTED");
    }
}

class ScriptsText : public testing::TestWithParam<bool> {};

/// `GetParam()`: the primary knows the script once it has got its text.
TEST_P(ScriptsText, IsSentOnceWhereAPrimaryDoesNotKnowIt) {
    Scenario world(lease);
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [](const Command& words, ScriptedClient&) -> ScriptedReply {
                         if (words[0] == "evalsha" || (words[0] == "eval" && !GetParam())) {
                             return error("NOSCRIPT No matching script");
                         }
                         return words[0] == "eval" ? integers({10, 10, reset}) : fallback(words);
                     });
    EXPECT_EQ(world.ask(RequestSetup("k", 3).or_else(OnError::deny)), GetParam() ? "PASSED" : "ERROR_DENIED");
    world.pass(1'000);
    EXPECT_EQ(primary.commands("evalsha").size(), 1U);
    EXPECT_EQ(primary.commands("eval").size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Each, ScriptsText, testing::Bool());

}  // namespace
}  // namespace rate_limit::world::odd_grants_test
