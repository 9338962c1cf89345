// A greeting that is refused, cut at any byte, or answered by nonsense: the node is down until a greeting
// succeeds, and the log says why, once.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "t/limiter/checked.h"

namespace rate_limit::world::greetings_test {
namespace {

std::string sound_answer(const std::string& command) {
    return command == "auth" || command == "select" ? simple("OK")
           : command == "info"                      ? bulk("maxmemory:0\r\n")
           : command == "script"                    ? bulk("0")
           : command == "ping"                      ? simple("PONG")
                                                    : "";
}

/// A primary with a password and a database, alone in its shard, whose greeting `greet` answers until the
/// test says otherwise.
struct GreetedPrimary {
    explicit GreetedPrimary(Handler odd) : greet(std::move(odd)) {
        world.setup.stores.front().password = "x";
        world.setup.stores.front().database = 1;
        world.setup.on_error = OnError::deny;
    }

    ScriptedReply answer(const Command& words, ScriptedClient& client) {
        const std::string sound = sound_answer(words[0]);
        return sound.empty() ? windows(words, client) : greet ? greet(words, client) : ScriptedReply(sound);
    }

    std::string check_once() { return check(world, "k"); }

    Scenario world{{"default", "5000r/h"}, 9'000};
    Handler greet;
    Handler windows = reading(7, world.at(1'800'000));
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     [this](const Command& words, ScriptedClient& client) { return answer(words, client); }};
};

/// All that a sound greeting is answered with.
std::string whole_greeting() {
    GreetedPrimary sound({});
    EXPECT_EQ(sound.check_once(), "PASSED 7");
    std::string all;
    for (const Command& words : sound.primary.commands()) {
        all += sound_answer(words[0]);
    }
    return all;
}

/// The node is down for as long as it is greeted so. `words`: what the only line about it has in it.
void expect_down(const Handler& odd, const std::string& words, const std::string& what) {
    GreetedPrimary node(odd);
    EXPECT_EQ(node.check_once(), "ERROR_DENIED") << what;
    node.world.pass(10'000);
    EXPECT_EQ(node.check_once(), "ERROR_DENIED") << what;
    // Tried again after 100 ms, 200 ms and so on up to 5 s, each shortened by up to a half.
    EXPECT_LE(node.primary.connections(), 14U) << what;
    const std::vector<std::string> lines = node.world.lines();
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [&words](const std::string& line) {
                                return line.find("primary 10.0.0.1:6379") != std::string::npos &&
                                       line.find(words) != std::string::npos;
                            }),
              1)
        << what << ": " << words;
    EXPECT_EQ(node.world.logged("is down|does not serve"), 1U) << what;
    node.greet = nullptr;
    node.world.pass(6'000);
    EXPECT_EQ(node.check_once(), "PASSED 7") << what;
}

void expect_up(const Handler& odd, const std::string& what) {
    GreetedPrimary node(odd);
    EXPECT_EQ(node.check_once(), "PASSED 7") << what;
    node.world.pass(10'000);
    EXPECT_EQ(node.check_once(), "PASSED 7") << what;
    EXPECT_EQ(node.primary.connections(), 1U) << what;
    EXPECT_EQ(node.world.logged("."), 0U) << what;
}

/// Answers one command of the greeting so, the others in order.
Handler but_for(const std::string& command, const std::string& answer) {
    return [command, answer](const Command& words, ScriptedClient&) -> ScriptedReply {
        return words[0] == command ? answer : sound_answer(words[0]);
    };
}

TEST(RefusedGreeting, IsToldInTheServersWords) {
    const std::pair<const char*, std::vector<std::string>> refusals[] = {
        {"auth",
         {"WRONGPASS invalid username-password pair", "ERR invalid password",
          "ERR Client sent AUTH, but no password is set", "LOADING Redis is loading"}},
        {"select",
         {"ERR DB index is out of range", "NOAUTH Authentication required.", "NOPERM no permissions",
          "ERR SELECT is not allowed in cluster mode"}},
        {"ping",
         {"LOADING Redis is loading", "MASTERDOWN Link with MASTER is down", "BUSY Redis is busy",
          "NOAUTH Authentication required.", "ERR odd", ""}},
    };
    for (const auto& [command, all] : refusals) {
        std::string name = command;
        std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c - 'a' + 'A'; });
        const std::string what = name == "PING" ? "does not serve: " : "is down: ";
        for (const std::string& words : all) {
            expect_down(but_for(command, error(words)), " (" + name + ": \"" + words + "\")", what + words);
            expect_down(but_for(command, error(words)), "of shard \"a\" of \"main\" " + what, words);
        }
    }
}

TEST(BrokenGreeting, TakesTheNodeDown) {
    for (const char* command : {"auth", "select", "info", "script", "ping"}) {
        for (const char* answer : {"HTTP/1.1 400\r\n\r\n", "$x\r\n"}) {
            expect_down(but_for(command, answer), "is down: Protocol error", std::string(command) + answer);
        }
    }
    expect_down([](const Command&, ScriptedClient& client) { return client.reset(); },
                "is down: Connection reset by peer", "reset when it is accepted");
}

TEST(CutGreeting, TakesTheNodeDownAtEachByte) {
    const std::string whole = whole_greeting();
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        expect_down(
            [&](const Command&, ScriptedClient& client) {
                client.send(whole.substr(0, cut));
                return client.reset();
            },
            "is down: Connection reset by peer", "after " + std::to_string(cut) + " bytes");
    }
}

TEST(HalvedGreeting, IsReadAtEachByte) {
    const std::string whole = whole_greeting();
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
        expect_up(
            [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
                if (words[0] != "auth") {
                    return "";
                }
                client.send(whole.substr(0, cut));
                return later(10'000, whole.substr(cut));
            },
            "halved at " + std::to_string(cut));
    }
}

TEST(OddGreeting, ChangesNothingWhereNothingDependsOnIt) {
    for (const char* command : {"info", "script"}) {
        for (const std::string& answer :
             {error("ERR no"), error("NOPERM no permissions"), nil(), simple("OK"), integer(-1),
              bulk(std::string(20'000, 'x')), array({nil(), array({integer(1), simple("maxmemory:1")})})}) {
            expect_up(but_for(command, answer), std::string(command) + ' ' + answer.substr(0, 40));
        }
    }
    expect_up(but_for("ping", error("MISCONF Redis is configured to save")), "it takes no writes");
}

/// A primary is given the scripts, and a replica none: no charge needs a second try. Where loading is not
/// allowed, the first charge brings the text.
TEST(Greeting, LoadsTheScripts) {
    for (const bool allowed : {true, false}) {
        Scenario world({"default", "9r/h"});
        world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
        Redis redis(world.events, world.network, "10.0.0.9:6379");
        redis.server().state.forbidden = allowed ? ServerState::Names{} : ServerState::Names{"script|load"};
        Scripted primary(world.events, world.network, Scenario::primary_address,
                         relaying(redis, [](const Command&, ScriptedClient&, std::string answer) {
                             return ScriptedReply(std::move(answer));
                         }));
        Scripted replica(world.events, world.network, Scenario::replica_address, reading({}, {}));
        world.worker();
        world.pass(1'000);
        for (const char* key : {"a", "b"}) {
            EXPECT_EQ(world.ask(key), "PASSED");
            world.pass(100);
            EXPECT_EQ(redis.used(stored_key(key)), 1) << allowed;
        }
        EXPECT_EQ(primary.commands("evalsha").size(), 2U) << allowed;
        EXPECT_EQ(primary.commands("eval").size(), allowed ? 0U : 1U);
        EXPECT_EQ(replica.commands("script").size(), 0U);
        EXPECT_EQ(world.logged("."), 0U) << allowed;
    }
}

// The words of a server to a new connection before it closes it say why it takes nobody, or not from there.

constexpr const char* said[] = {"ERR max number of clients reached",
                                "DENIED Redis is running in protected mode because protected mode is enabled",
                                "ERR this proxy is full"};

/// The only line about a node whose server turns each client away so, before the log in or at it.
void expect_told(const std::string& words, bool is_replica, const std::string& password, bool when_asked,
                 std::size_t piece) {
    Scenario world({"default", "1000r/h"}, 9'000);
    StoreSetup& store = world.setup.stores.front();
    store.password = password;
    if (is_replica) {
        store.shards.front().replicas = {Scenario::replica_address};
    }
    Scripted server(world.events, world.network,
                    is_replica ? Scenario::replica_address : Scenario::primary_address,
                    [](const Command&, ScriptedClient&) -> ScriptedReply { return ""; });
    server.piece = piece;
    const auto turn_away = [&words](ScriptedClient& client) {
        client.send(error(words));
        return client.reset();
    };
    if (when_asked) {
        server.handler = [turn_away](const Command&, ScriptedClient& client) { return turn_away(client); };
    } else {
        server.welcome = turn_away;
    }
    check(world, "k");
    world.pass(3'000);
    const std::string node = is_replica ? "replica" : "primary";
    EXPECT_EQ(world.logged(node + " .* is down.*(it said|AUTH|PING): \"" + words + "\""), 1U)
        << node << (when_asked ? " when asked, " : " at once, ") << password << ' ' << piece;
}

TEST(SaidBeforeLogin, IsInTheLog) {
    for (const char* words : said) {
        for (const char* password : {"", "x"}) {
            for (const bool is_replica : {false, true}) {
                for (const std::size_t piece : {0U, 1U, 7U}) {
                    expect_told(words, is_replica, password, false, piece);
                    expect_told(words, is_replica, password, true, piece);
                }
            }
        }
    }
}

}  // namespace
}  // namespace rate_limit::world::greetings_test
