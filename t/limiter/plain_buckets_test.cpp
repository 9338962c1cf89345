// A primary answers oddly to the plain commands that take from a bucket, of one that may be full and of one
// that is not: whatever such a command cannot say is for rate_limit_on_error, takes nothing, and nothing is
// put back of it. Where the bucket was not there, or has too little, the script decides.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "t/limiter/scenario.h"

namespace rate_limit::world::plain_buckets_test {
namespace {

constexpr std::int64_t mark = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

/// Ten of 100 tokens are asked for. They come back in a moment, so that the bucket may be full, or in some
/// time.
struct Kind {
    const char* rate;
    std::int64_t token;  // nanoseconds
    std::size_t words;   // of its plain command
};

constexpr Kind may_be_full{"125r/s", 8'000'000, 12};
constexpr Kind is_filling{"100r/m", 600'000'000, 6};

/// An answer: bytes; or how many tokens were missing, and are now, as the command says it.
struct Answer {
    Answer(std::string reply) : bytes(std::move(reply)) {}
    Answer(std::int64_t missing_before, std::int64_t missing_after)
        : before(missing_before), after(missing_after) {}

    std::string bytes;
    std::int64_t before = 0;
    std::int64_t after = 0;
};

struct Case {
    const char* name;
    Answer answer;
};

/// The answer when a bucket is not there: its instant is what was added.
constexpr std::int64_t of_nothing = huge;
constexpr std::int64_t beyond_all = huge - 1;

class PlainBucket {
public:
    PlainBucket(const Kind& of, const Answer& answers)
        : kind(of), answer(answers), world(LimitSetup{"default", of.rate, "charge_refund", 100}) {}

    /// The outcome of the first request that a plain command asks for, and the used that is shown. Those
    /// before it, of which the first makes the bucket known, ask the script.
    std::string ask() {
        for (int i = 0; i < 40; ++i) {
            ClientRequest& request = world.begin(RequestSetup("k", 10).or_else(OnError::deny));
            world.until([&request] { return request.is_decided(); });
            const std::string decided = outcome(request) + ' ' + std::to_string(request.quota().used);
            if (request.is_admitted()) {
                request.end();
            }
            if (!primary.commands("bitfield").empty()) {
                world.pass(1'000);
                return decided;
            }
            EXPECT_EQ(outcome(request), "PASSED") << "the script makes it known";
        }
        return "no plain command";
    }

    /// The amounts that scripts were told to take, the last ones; below 0: to put back.
    std::vector<std::int64_t> wanted() const {
        std::vector<std::int64_t> all;
        for (const Command& words : primary.commands("evalsha")) {
            all.push_back(std::stoll(words[6]));
        }
        return all;
    }

    void expect_one_plain_command() const {
        ASSERT_EQ(primary.commands("bitfield").size(), 1U);
        EXPECT_EQ(primary.commands("bitfield").front().size(), kind.words);
    }

    const Kind kind;
    const Answer answer;
    Scenario world;
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     [this](const Command& words, ScriptedClient&) { return reply(words); }};

private:
    ScriptedReply reply(const Command& words) {
        const std::int64_t micros = Loop::usual_wall_clock * 1000 + world.events.now();
        if (words[0] == "evalsha" || words[0] == "eval") {
            const std::int64_t taken = std::stoll(words[6]) < 0 ? 0 : 10;
            return integers({taken, 100 - taken, taken * kind.token, 0, micros, 0, 0});
        }
        if (words[0] != "bitfield") {
            return fallback(words);
        }
        if (!answer.bytes.empty()) {
            return answer.bytes;
        }
        // A time that the server takes itself is some time off the one that the worker reckons with.
        const bool tells = words.size() == 12;
        const std::int64_t now = tells ? -std::stoll(words[7]) : micros * 1000;
        const std::int64_t instant = answer.after == beyond_all   ? huge
                                     : answer.after == of_nothing ? now + 10 * kind.token
                                                                  : mark + now + answer.after * kind.token -
                                                                        (tells ? 0 : kind.token / 2);
        return tells ? integers({answer.before * kind.token, instant}) : integers({instant});
    }
};

std::vector<Case> odd_of(const Kind& kind) {
    std::vector<Case> all = {
        {"OOM", error("OOM command not allowed")},
        {"an error", error("ERR what")},
        {"an empty error", error("")},
        {"a status", simple("OK")},
        {"nil", nil()},
        {"an integer", integer(10)},
        {"a string", bulk("10")},
        {"an empty array", array({})},
        {"a nil", array({nil()})},
        {"zero and nil", array({integer(0), nil()})},
        {"two nils", array({nil(), nil()})},
    };
    if (kind.words == may_be_full.words) {
        all.insert(all.end(), {{"minus one", integers({-1, mark + 1})},
                               {"too few", integers({mark})},
                               {"an instant long gone", integers({0, mark})},
                               {"an instant before it was asked for", {0, -1}},
                               {"too little", {0, 9}},
                               {"too much", {0, 11}},
                               {"too many", integers({0, mark, 0})},
                               {"huge", integers({huge, -1})}});
    } else {
        all.push_back({"too many", integers({0, mark})});
    }
    return all;
}

class PlainBuckets : public testing::TestWithParam<Kind> {};

TEST_P(PlainBuckets, OddAnswersAreForOnError) {
    for (const Case& odd : odd_of(GetParam())) {
        SCOPED_TRACE(odd.name);
        PlainBucket bucket(GetParam(), odd.answer);
        EXPECT_EQ(bucket.ask().substr(0, 12), "ERROR_DENIED");
        bucket.expect_one_plain_command();
        for (const std::int64_t wanted : bucket.wanted()) {
            EXPECT_EQ(wanted, 10) << "nothing is put back";
        }
    }
}

TEST_P(PlainBuckets, SoundAnswersAreBelievedAndShown) {
    for (const Case& sound : {Case{"room", {10, 20}}, Case{"much", {70, 80}}}) {
        SCOPED_TRACE(sound.name);
        PlainBucket bucket(GetParam(), sound.answer);
        EXPECT_EQ(bucket.ask(), "PASSED " + std::to_string(sound.answer.after));
        bucket.expect_one_plain_command();
        for (const std::int64_t wanted : bucket.wanted()) {
            EXPECT_EQ(wanted, 10);
        }
    }
}

/// Tokens that did not fit are put back first.
TEST_P(PlainBuckets, TheScriptDecidesWhereTheyHaveTooLittleOrWereNotThere) {
    struct Unsure {
        Case of;
        bool put_back;
    };
    std::vector<Unsure> all = {
        {{"gone", {0, of_nothing}}, false},
        {{"another", {5, beyond_all}}, false},
        {{"empty", {91, 101}}, true},
        {{"emptied", {190, 200}}, true},
        {{"beyond", {191, 201}}, true},
        {{"no right", error("NOPERM no")}, false},
        {{"text", error("WRONGTYPE Operation against a key holding the wrong kind of value")}, false},
    };
    if (GetParam().words == may_be_full.words) {
        all.push_back({{"exact", {90, 100}}, true});
    } else {
        all.push_back({{"full meanwhile", {0, 9}}, true});
        all.push_back({{"full long ago", {0, -1000}}, true});
    }
    for (const auto& [of, put_back] : all) {
        SCOPED_TRACE(of.name);
        PlainBucket bucket(GetParam(), of.answer);
        EXPECT_EQ(bucket.ask().substr(0, 6), "PASSED");
        bucket.expect_one_plain_command();
        const std::vector<std::int64_t> wanted = bucket.wanted();
        EXPECT_EQ(std::count(wanted.begin(), wanted.end(), -10), put_back ? 1 : 0);
        EXPECT_EQ(wanted.back(), 10) << "... before the script is asked";
    }
}

INSTANTIATE_TEST_SUITE_P(Each, PlainBuckets, testing::Values(may_be_full, is_filling));

}  // namespace
}  // namespace rate_limit::world::plain_buckets_test
