// Whatever a primary answers to a charge, the outcome is defined: taken; waiting until it is taken; dropped
// and counted; or in doubt and never sent again. No request notices.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "t/limiter/checked.h"

namespace rate_limit::world::odd_charges_test {
namespace {

constexpr Millis reset_of_all = Loop::usual_wall_clock + 1'800'000;

/// The fate of a charge that is answered so.
enum class Fate : unsigned char { waits, taken, dropped, doubtful };

using Costs = std::map<std::string, std::int64_t>;  // by key

std::string sound_answer(const Command& words) {
    return words[0] == "hincrby" ? integer(43) : integers({1, reset_of_all});
}

std::string key_of(const Command& words) {
    const std::string& stored = words[words[0] == "hincrby" ? 1 : 3];
    return stored.substr(stored.rfind(':') + 1);
}

/// A shard whose replica answers all checks, and whose primary answers charges of other keys than `before` by
/// `odd`, until it is to be sound.
class OddPrimary {
public:
    explicit OddPrimary(Handler odd, Msec charge_timeout = 9'000) : odd_(std::move(odd)) {
        world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
        world.setup.stores.front().charge_timeout = charge_timeout;
        world.setup.on_error = OnError::deny;
        EXPECT_EQ(charge("before"), "PASSED 1");
        world.pass(10);
    }

    /// Two requests each of a new window and an open one, all before the primary answers; then one more.
    void run(const std::string& line) {
        primary.link().back = 50'000;
        for (std::int64_t nth = 0; nth < 2; ++nth) {
            EXPECT_EQ(charge("new"), "PASSED " + std::to_string(1 + nth));
            EXPECT_EQ(charge("open"), "PASSED " + std::to_string(42 + nth));
        }
        world.pass(50);
        primary.link().back = 100;
        world.pass(2'000);
        if (!line.empty()) {
            const auto lines = world.lines();
            EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [&line](const std::string& each) {
                return each.find("primary 10.0.0.1:6379") != std::string::npos &&
                       each.find(line) != std::string::npos;
            })) << line;
        }
        sound = true;
        EXPECT_EQ(charge("after"), "PASSED 1");
        world.pass(10'000);
        EXPECT_TRUE(world.stop_all());
    }

    void expect(Fate fate, const std::string& what) const {
        const Costs once = {{"before", 1}, {"new", 2}, {"open", 2}, {"after", 1}};
        if (fate == Fate::waits) {
            EXPECT_EQ(taken, once) << what;
        } else if (fate == Fate::taken) {
            EXPECT_EQ(sent, once) << what;
        } else if (fate == Fate::doubtful) {
            for (const auto& [key, cost] : sent) {
                EXPECT_LE(cost, once.at(key)) << key << ", " << what;  // what came behind it was sent, too
            }
        }
        EXPECT_EQ(taken.count("after"), 1U) << what;
        EXPECT_EQ(world.logged("\\(\\d+ dropped so far\\)") > 0, fate == Fate::dropped) << what;
        EXPECT_EQ(world.logged("were sent and not answered: they are in doubt") > 0, fate == Fate::doubtful)
            << what;
        EXPECT_EQ(world.logged("are lost"), 0U) << what;
    }

    std::string charge(const std::string& key) {
        ClientRequest& request = world.begin(key);
        world.pass(1);
        request.end();
        return shown(request);
    }

    Scenario world{{"default", "1000r/h"}, 9'000};
    bool sound = false;
    Costs sent;
    Costs taken;
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     [this](const Command& words, ScriptedClient& client) { return answer(words, client); }};
    Scripted replica{
        world.events, world.network, Scenario::replica_address,
        [](const Command& words, ScriptedClient&) -> ScriptedReply {
            const bool open = words.back() != words[0] && words[0] == "hmget" &&
                              words[1].find(":open") != std::string::npos;
            return words[0] != "hmget" ? fallback(words) : open ? hmget(41, reset_of_all) : hmget({}, {});
        }};

private:
    ScriptedReply answer(const Command& words, ScriptedClient& client) {
        if (!is_write(words)) {
            return fallback(words);
        }
        const std::string key = key_of(words);
        const std::int64_t cost = std::stoll(words[words[0] == "hincrby" ? 3 : 4]);
        sent[key] += words[0] == "eval" ? 0 : cost;
        if (key != "before" && !sound) {
            return odd_(words, client);
        }
        taken[key] += cost;
        return sound_answer(words);
    }

    const Handler odd_;
};

void expect_of(Fate fate, const Handler& odd, const std::string& line, const std::string& what,
               Msec charge_timeout = 9'000) {
    OddPrimary shard(odd, charge_timeout);
    shard.run(line);
    shard.expect(fate, what);
}

Handler always(const std::string& answer) {
    return [answer](const Command&, ScriptedClient&) { return answer; };
}

void expect_of_each(Fate fate, const char* what,
                    const std::vector<std::pair<const char*, const char*>>& answers) {
    for (const auto& [said, line] : answers) {
        expect_of(fate, always(error(said)), std::string(what) + line, said);
    }
}

constexpr const char* in_doubt = "were sent and not answered: they are in doubt";

TEST(AChargeThatIsRefused, WaitsWhileChecksGoOn) {
    expect_of_each(
        Fate::waits, "refuses charges: ",
        {{"READONLY You can't write against a read only replica.", "readonly: it is a replica now"},
         {"OOM command not allowed when used memory > 'maxmemory'.", "oom: its maxmemory is reached"},
         {"MISCONF Redis is configured to save RDB snapshots", "unwilling: it takes no writes"},
         {"NOREPLICAS Not enough good replicas to write.", "unwilling: it takes no writes"},
         {"NOPERM this user has no permissions", "noperm: its user may not run"},
         {"ERR The user executing the script can't run this", "noperm: its user may not run"},
         {"ERR ACL failure in script: User has no permissions", "noperm: its user may not run"},
         {"ERR unknown command 'EVALSHA', with args beginning with: ", "nolua: it runs no Lua scripts"}});
}

TEST(AChargeThatIsRefused, WaitsForANodeThatDoesNotServe) {
    expect_of_each(
        Fate::waits, "does not serve: ",
        {{"LOADING Redis is loading the dataset in memory", "loading: it reads its data"},
         {"MASTERDOWN Link with MASTER is down", "masterdown: it has no primary"},
         {"BUSY Redis is busy running a script.", "busy: a script runs for too long"},
         {"NOAUTH Authentication required.", "auth: see username and password"},
         {"WRONGPASS invalid username-password pair", "auth: see username and password"},
         {"MOVED 3999 127.0.0.1:6381",
          "moved: another node of its Redis Cluster serves the slot: if \"shard\" names it, use \"cluster\""},
         {"CLUSTERDOWN Hash slot not served", "clusterdown: its Redis Cluster is down"}});
}

TEST(AChargeThatFails, IsDroppedAndCounted) {
    expect_of_each(Fate::dropped, "were dropped: ",
                   {{"NOSCRIPT No matching script.", "noscript: it does not keep scripts"},
                    {"WRONGTYPE Operation against a wrong kind", "wrongtype: the key holds something else"},
                    {"ERR unknown command", "another error"},
                    {"", "another error"}});
}

TEST(AChargeWithAnOddAnswer, IsInDoubt) {
    std::string deep;
    for (int i = 0; i < 40; ++i) {
        deep += "*1\r\n";
    }
    for (const std::string& answer : {simple("OK"), nil(), std::string("*-1\r\n"), std::string("*0\r\n"),
                                      bulk(""), bulk(std::string(40'000, 'x')), integer(INT64_MIN),
                                      array({nil(), nil()}), array({integer(1), integers({1})}),
                                      integers(std::vector<std::int64_t>(5'000, 1)), deep + ":1\r\n"}) {
        expect_of(Fate::doubtful, always(answer), in_doubt, answer.substr(0, 40));
    }
}

TEST(AChargeWithABrokenAnswer, IsInDoubt) {
    for (const std::string& answer :
         {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("\0\r\n", 3), std::string("$x\r\n"),
          std::string("*99999999999\r\n"), std::string("*2\r\n:1\r\n:x\r\n")}) {
        expect_of(Fate::doubtful, always(answer), in_doubt, answer);
    }
}

TEST(AChargeWithoutAnAnswer, IsInDoubt) {
    for (const char* begin : {"", "*2\r\n:1\r\n", "$99999999999999\r\n"}) {
        expect_of(
            Fate::doubtful,
            [begin](const Command&, ScriptedClient& client) {
                client.send(begin);
                return hold("never", "");
            },
            in_doubt, begin, 1'000);
    }
}

TEST(AChargeWhoseAnswerIsCut, IsInDoubt) {
    for (std::size_t cut = 0; cut < integers({1, reset_of_all}).size(); ++cut) {
        expect_of(
            Fate::doubtful,
            [cut](const Command& words, ScriptedClient& client) {
                const std::string whole = sound_answer(words);
                client.send(whole.substr(0, std::min(cut, whole.size() - 1)));
                return client.reset();
            },
            in_doubt, "after " + std::to_string(cut) + " bytes");
    }
}

TEST(AChargeWhoseAnswerComesInPieces, IsTaken) {
    for (std::size_t piece = 1; piece < integers({1, reset_of_all}).size(); ++piece) {
        OddPrimary shard([](const Command& words, ScriptedClient&) { return sound_answer(words); });
        shard.primary.piece = piece;
        shard.run("");
        shard.expect(Fate::taken, "pieces of " + std::to_string(piece));
    }
}

}  // namespace
}  // namespace rate_limit::world::odd_charges_test
