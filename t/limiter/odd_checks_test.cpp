// Whatever a node answers to a check, the outcome is defined: the next node's answer, no window, or
// rate_limit_on_error. Nobody is let through against a known count, and nobody gets another's.

#include <string>
#include <utility>
#include <vector>

#include "t/limiter/checked.h"

namespace rate_limit::world::odd_checks_test {
namespace {

constexpr Millis reset_of_all = Loop::usual_wall_clock + 1'800'000;

std::string window(std::int64_t used) {
    return hmget(used, reset_of_all);
}

std::string words(const std::vector<std::string>& texts) {
    std::vector<std::string> encoded(texts.size());
    std::transform(texts.begin(), texts.end(), encoded.begin(),
                   [](const std::string& text) { return bulk(text); });
    return array(encoded);
}

/// How the outcome of a check is found where a node answers so.
enum class Then : unsigned char {
    next_node,  ///< the next node answers; without one, rate_limit_on_error decides
    no_window,  ///< there is no window
    error,      ///< rate_limit_on_error decides
};

struct Odd {
    Then then;
    std::string answer;
    std::string line{};  ///< what a log line has in it; empty: nothing in particular
    bool ends = false;   ///< then the connection does
    bool lasts = false;  ///< and nothing follows, though the connection stays
};

/// A shard of two nodes with 1000 requests an hour, the replica or both of which answer keys `odd.COUNT`
/// oddly, and all other keys as they should.
class OddShard {
public:
    OddShard(Odd answer, bool both) : odd_(std::move(answer)), both_(both) {
        StoreSetup& store = world.setup.stores.front();
        store.shards.front().replicas = {Scenario::replica_address};
        store.check_timeout = 3'000;
        store.charge_timeout = 4'000;
        store.fresh = 0;
    }

    /// Four odd and four sound checks at a time, and what is right to come of each.
    void ask() {
        std::vector<std::pair<ClientRequest*, std::vector<std::string>>> asked;
        for (const std::int64_t count : {10, 3020, 30, 3040}) {
            const OnError decides = count % 20 == 0 ? OnError::allow : OnError::deny;
            asked.emplace_back(&world.begin(RequestSetup("odd." + std::to_string(count)).or_else(decides)),
                               std::vector<std::string>{expected(count, decides)});
            asked.emplace_back(&world.begin("sound." + std::to_string(count + 1)),
                               std::vector<std::string>{own(count + 1)});
            if (both_) {
                asked.back().second.emplace_back("ERROR_ALLOWED");
            }
        }
        world.pass(3'000);
        for (const auto& [request, all] : asked) {
            const std::string got = shown_exempt(*request);
            EXPECT_TRUE(std::find(all.begin(), all.end(), got) != all.end())
                << got << ", not " << all.front() << ", where " << name();
        }
        if (!odd_.line.empty()) {
            const std::string node = both_ ? "primary 10.0.0.1:6379" : "replica 10.0.0.2:6379";
            const auto lines = world.lines();
            EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
                const std::string subject = node + " of shard \"a\" of \"main\" ";
                return (line.find(subject + "does not serve: ") != std::string::npos ||
                        line.find(subject + "answered HMGET: ") != std::string::npos) &&
                       line.find(odd_.line) != std::string::npos;
            })) << name();
        }
    }

    void expect_to_recover() {
        world.pass(10'000);
        EXPECT_EQ(check(world, "sound.4"), "PASSED 4") << name();
        replica.forget();
        EXPECT_EQ(check(world, "sound.5"), "PASSED 5") << name();
        EXPECT_EQ(replica.commands("hmget").size(), 1U) << name();
    }

    Scenario world{{"default", "1000r/h"}, 9'000};
    Scripted primary{
        world.events, world.network, Scenario::primary_address,
        [this](const Command& said, ScriptedClient& client) { return answer(said, client, both_); }};
    Scripted replica{
        world.events, world.network, Scenario::replica_address,
        [this](const Command& said, ScriptedClient& client) { return answer(said, client, true); }};

private:
    static std::string own(std::int64_t count) {
        return (count < 1000 ? "PASSED " : "REJECTED ") + std::to_string(count);
    }

    std::string expected(std::int64_t count, OnError decides) const {
        if (odd_.then == Then::no_window) {
            return "PASSED 0";
        }
        const bool next = odd_.then == Then::next_node && !both_;
        return next ? own(count) : decides == OnError::allow ? "ERROR_ALLOWED" : "ERROR_DENIED";
    }

    std::string name() const {
        return (both_ ? "both answer " : "the replica answers ") + odd_.answer.substr(0, 60);
    }

    ScriptedReply answer(const Command& said, ScriptedClient& client, bool is_odd) const {
        if (said[0] != "hmget") {
            return fallback(said);
        }
        const std::string key = said[1].substr(said[1].rfind(':') + 1);
        if (!is_odd || key.find("odd") == std::string::npos) {
            return window(std::stoll(key.substr(key.find('.') + 1)));
        }
        if (odd_.ends) {
            client.send(odd_.answer);
            return client.reset();
        }
        if (odd_.lasts) {
            client.send(odd_.answer);
            return hold("never", "");
        }
        return odd_.answer;
    }

    const Odd odd_;
    const bool both_;
};

void expect_of(const std::vector<Odd>& answers) {
    for (const Odd& answer : answers) {
        for (const bool both : {false, true}) {
            OddShard shard(answer, both);
            EXPECT_EQ(check(shard.world, "sound.1"), "PASSED 1");
            shard.ask();
            shard.expect_to_recover();
        }
    }
}

TEST(ACheckThatIsRefused, GoesToTheNextNode) {
    const std::pair<const char*, const char*> refusals[] = {
        {"READONLY You can't write against a read only replica.", "readonly: it is a replica now"},
        {"LOADING Redis is loading the dataset in memory", "loading: it reads its data"},
        {"MASTERDOWN Link with MASTER is down", "masterdown: it has no primary"},
        {"BUSY Redis is busy running a script.", "busy: a script runs for too long"},
        {"OOM command not allowed when used memory > 'maxmemory'.", "oom: its maxmemory is reached"},
        {"MISCONF Redis is configured to save RDB snapshots", "unwilling: it takes no writes"},
        {"NOREPLICAS Not enough good replicas to write.", "unwilling: it takes no writes"},
        {"ERR max number of clients reached", "denied: it takes no more clients"},
        {"NOAUTH Authentication required.", "auth: see username and password (HMGET: \"NOAUTH"},
        {"WRONGPASS invalid username-password pair", "auth: see username and password"},
        {"NOPERM this user has no permissions",
         "HMGET: \"NOPERM this user has no permissions\": noperm: its user may not run"},
        {"NOPERM none", "noperm: its user may not run"},
        {"MOVED 3999 127.0.0.1:6381",
         "moved: another node of its Redis Cluster serves the slot: if \"shard\" names it, use \"cluster\""},
        {"ASK 3999 127.0.0.1:6381",
         "ask: its Redis Cluster is moving the slot: if \"shard\" names it, use \"cluster\""},
        {"CLUSTERDOWN Hash slot not served", "clusterdown: its Redis Cluster is down"},
        {"TRYAGAIN Multiple keys request during rehashing", "tryagain: its Redis Cluster is moving the slot"},
    };
    for (const auto& [said, line] : refusals) {
        expect_of({{Then::next_node, error(said), line}});
    }
}

TEST(AnAnswerThatCannotBeRead, IsAnError) {
    std::string deep(160, ' ');
    deep.clear();
    for (int i = 0; i < 40; ++i) {
        deep += "*1\r\n";
    }
    const std::string answers[] = {error("ERR unknown command"),
                                   error(""),
                                   error("NOSCRIPT none"),
                                   error(std::string(20'000, 'x')),
                                   simple("OK"),
                                   integer(7),
                                   integer(INT64_MIN),
                                   bulk(""),
                                   bulk(std::string("\0\xff\r\n", 4)),
                                   bulk(std::string(40'000, 'x')),
                                   nil(),
                                   "*-1\r\n",
                                   "*0\r\n",
                                   words({"1"}),
                                   words({"1", "2", "3"}),
                                   array({integer(1), integers({1})}),
                                   array({window(777), window(777)}),
                                   words(std::vector<std::string>(5'000, "1")),
                                   array({array({array({array({integers({1})})})})}),
                                   array({simple("OK"), error("ERR x")}),
                                   deep + ":1\r\n"};
    for (const std::string& answer : answers) {
        expect_of({{Then::error, answer}});
    }
}

TEST(APairThatHoldsNoWindow, IsNone) {
    const std::string reset = std::to_string(reset_of_all);
    const std::string answers[] = {
        hmget({}, {}),
        hmget(5, {}),
        words({"", ""}),
        words({"many", reset}),
        words({"-5", reset}),
        words({"5", "-1"}),
        words({"5", std::string(40, '9')}),
        hmget(5, reset_of_all - 7'200'000),
        words({std::string("\0\xff\r\n", 4), std::string(20'000, 'x')}),
        error("WRONGTYPE Operation against a key holding the wrong kind of value")};
    for (const std::string& answer : answers) {
        expect_of({{Then::no_window, answer}});
    }
}

TEST(AnAnswerThatBreaksTheProtocol, SendsTheCheckToTheNextNode) {
    for (const char* answer : {"HTTP/1.1 400 Bad Request\r\n\r\n", "$x\r\n", "$-2\r\n", "*2\r\n$x\r\n",
                               "*99999999999\r\n", "*-7\r\n", ":x\r\n", ":99999999999999999999\r\n"}) {
        expect_of({{Then::next_node, answer}});
    }
    expect_of({{Then::next_node, std::string("\0\0\0\0\r\n", 6)}});
}

TEST(AnAnswerThatEndsWithItsConnection, SendsTheCheckToTheNextNode) {
    const std::string whole = window(10);
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        expect_of({{Then::next_node, whole.substr(0, cut), {}, true}});
    }
}

TEST(AnAnswerThatNeverEnds, SendsTheCheckToTheNextNode) {
    for (const std::string& answer :
         {std::string(), std::string("*"), std::string("*2\r\n"), std::string("*2\r\n$1\r\n"),
          std::string("$99999999999999\r\n"), "$500000000\r\n" + std::string(70'000, 'x'),
          std::string("*4000000000\r\n"), std::string("-LOADING")}) {
        expect_of({{Then::next_node, answer, {}, false, true}});
    }
}

/// The replica refuses one check: one node more is asked, once.
TEST(ACheckThatIsRefused, IsAskedOnceMore) {
    OddShard shard({Then::next_node, error("LOADING Redis is loading the dataset in memory")}, false);
    EXPECT_EQ(check(shard.world, "odd.10"), "PASSED 10");
    EXPECT_EQ(shard.replica.commands("hmget").size(), 1U);
    EXPECT_EQ(shard.primary.commands("hmget").size(), 1U);
}

}  // namespace
}  // namespace rate_limit::world::odd_checks_test
