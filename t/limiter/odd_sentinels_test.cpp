// Sentinels that say something odd, know less than others, or are gone; and replicas of which they think
// little.

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "t/limiter/checked.h"

namespace rate_limit::world::odd_sentinels_test {
namespace {

constexpr const char* first_sentinel = "10.0.1.1:26379";
constexpr const char* second_sentinel = "10.0.1.2:26379";
constexpr const char* third_sentinel = "10.0.1.3:26379";

std::string host_of(const std::string& address) {
    return address.substr(0, address.rfind(':'));
}

std::string port_of(const std::string& address) {
    return address.substr(address.rfind(':') + 1);
}

/// Names and values, as sentinels answer.
std::string fields(const std::vector<std::string>& words) {
    std::vector<std::string> encoded(words.size());
    std::transform(words.begin(), words.end(), encoded.begin(),
                   [](const std::string& word) { return bulk(word); });
    return array(encoded);
}

std::string master(const std::string& address, const std::string& epoch, std::size_t others = 0,
                   const std::string& flags = "master") {
    return fields({"ip", host_of(address), "port", port_of(address), "flags", flags, "config-epoch", epoch,
                   "num-other-sentinels", std::to_string(others)});
}

std::string peers(const std::vector<std::string>& addresses) {
    std::vector<std::string> all(addresses.size());
    std::transform(addresses.begin(), addresses.end(), all.begin(), [](const std::string& address) {
        return fields({"ip", host_of(address), "port", port_of(address), "flags", "sentinel"});
    });
    return array(all);
}

/// The words of a sentinel, until the test says otherwise. Empty: it does not say that.
struct Said {
    std::string master;
    std::string replicas = array({});
    std::string sentinels = array({});
};

Handler saying(const Said& said) {
    return [&said](const Command& words, ScriptedClient&) -> ScriptedReply {
        if (words[0] != "sentinel") {
            return fallback(words);
        }
        std::string about = words[1];
        std::transform(about.begin(), about.end(), about.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        const std::string& answer = about == "master"     ? said.master
                                    : about == "replicas" ? said.replicas
                                                          : said.sentinels;
        return answer.empty() ? error("NOPERM this user has no permissions") : answer;
    };
}

/// A world whose store has one master, `m`, of which these sentinels tell.
struct SentinelWorld : Scenario {
    explicit SentinelWorld(const std::vector<std::string>& sentinels = {first_sentinel})
        : Scenario({"default", "100000r/h"}, 2'000) {
        setup.stores.front().shards = {{"a", "", {}, "m"}};
        setup.stores.front().sentinels = sentinels;
    }

    bool names(const std::string& primary) {
        worker();
        return until([&] { return logged("sentinels name " + primary + " as the primary") > 0; }, 120'000);
    }
};

/// More than half of all sentinels have to agree, also of those that are not asked: one may be forbidden to
/// name the others.
TEST(AMajority, IsOfAllSentinels) {
    SentinelWorld world;
    Said said{master("10.0.0.1:6379", "5", 2), array({}), ""};
    Scripted sentinel(world.events, world.network, first_sentinel, saying(said));
    EXPECT_TRUE(world.names("10.0.0.1:6379"));
    said.master = master("10.0.0.2:6379", "4", 2);
    world.pass(60'000);
    EXPECT_EQ(world.logged("before it was"), 0U) << "one of three is not believed what is older";
    said.master = master("10.0.0.3:6379", "6", 2);
    EXPECT_TRUE(world.names("10.0.0.3:6379")) << "what is newer it is";
}

/// A sentinel whose name was that of another one before, and that is known by its address as well, has one
/// vote.
TEST(AMajority, CountsEachSentinelOnce) {
    SentinelWorld world({"s:26379"});
    world.setup.stores.front().resolves = true;
    world.network.lead("s", "10.0.1.1");
    const std::string old = master("10.0.0.1:6379", "0", 2);
    Said of_first{old, array({}), peers({second_sentinel, third_sentinel})};
    Said of_second{old, array({}), peers({first_sentinel, third_sentinel})};
    Said of_third{old, array({}), peers({first_sentinel, second_sentinel})};
    Scripted first(world.events, world.network, first_sentinel, saying(of_first));
    Scripted second(world.events, world.network, second_sentinel, saying(of_second));
    Scripted third(world.events, world.network, third_sentinel, saying(of_third));
    EXPECT_TRUE(world.names("10.0.0.1:6379"));
    EXPECT_TRUE(world.until([&] { return second.connections() == 1 && third.connections() == 1; }));
    world.network.lead("s", "10.0.1.2");
    first.stop();
    EXPECT_TRUE(world.until([&second] { return second.connections() == 2; })) << "the name leads there";
    of_second.master = master("10.0.0.2:6379", "0", 2);
    world.pass(30'000);
    EXPECT_EQ(world.logged("before it was"), 0U) << "one of three is not believed";
    of_third.master = of_second.master;
    EXPECT_TRUE(world.names("10.0.0.2:6379")) << "two of three are";
}

/// Sentinels tell of one another by names that the configuration has otherwise, or not at all, and nobody
/// resolves those: each is known once, and two of three that agree are more than half.
TEST(AMajority, IsOfSentinelsWhoseNamesAreUnknown) {
    for (const char* host : {"LocalHost", "10.0.1.1"}) {
        SentinelWorld world(std::vector<std::string>{});
        world.network.lead("LocalHost", "10.0.1.1");
        std::deque<Said> said;
        std::deque<Scripted> sentinels;
        for (const int port : {1, 2, 3}) {
            const auto at = [](const std::string& name, int number) {
                return name + ':' + std::to_string(number);
            };
            world.setup.stores.front().sentinels.push_back(at(host, port));
            said.push_back({master("10.0.0.1:6379", "0", 2), array({}),
                            peers({at("localhost", port % 3 + 1), at("localhost", (port + 1) % 3 + 1)})});
            sentinels.emplace_back(world.events, world.network, at("10.0.1.1", port), saying(said.back()));
        }
        EXPECT_TRUE(world.names("10.0.0.1:6379")) << host;
        EXPECT_TRUE(world.until([&sentinels] { return sentinels[2].commands("sentinel").size() > 4; }))
            << host;
        said[0].master = said[1].master = master("10.0.0.2:6379", "0", 2);
        EXPECT_TRUE(world.names("10.0.0.2:6379")) << host;
    }
}

/// A sentinel that answers by an error has the line that it cannot be used, and no other beside that.
TEST(ASentinelThatDoesNotTell, IsToldOnce) {
    for (const auto& [answer, reason] :
         std::map<std::string, std::string>{{"NOPERM this user has no permissions", "noperm"},
                                            {"NOPERM No permissions to access a key", "another error"},
                                            {"ERR odd", "another error"},
                                            {"WRONGTYPE odd", "wrongtype"}}) {
        SCOPED_TRACE(answer);
        SentinelWorld world({first_sentinel, second_sentinel});
        const std::string refusal = error(answer);
        Said lacking{refusal, refusal, refusal};
        Said said{master("10.0.0.1:6379", "5", 1), array({}), ""};
        Scripted first(world.events, world.network, first_sentinel, saying(lacking));
        Scripted second(world.events, world.network, second_sentinel, saying(said));
        EXPECT_TRUE(world.names("10.0.0.1:6379"));
        world.pass(50'000);
        EXPECT_EQ(world.logged("sentinel 10.0.1.1:26379 .* cannot be used: " + reason), 1U);
        EXPECT_EQ(world.logged("answered"), 0U);
    }
}

/// Sentinels that only others named are forgotten when they are down and named no more: they have no votes.
TEST(RemovedSentinels, AreForgotten) {
    SentinelWorld world;
    Said said{master("10.0.0.1:6379", "5"), array({}), peers({second_sentinel, third_sentinel})};
    Scripted left(world.events, world.network, first_sentinel, saying(said));
    Scripted second(world.events, world.network, second_sentinel);
    Scripted third(world.events, world.network, third_sentinel);
    EXPECT_TRUE(world.names("10.0.0.1:6379"));
    EXPECT_TRUE(world.until(
        [&] { return !second.commands("sentinel").empty() && !third.commands("sentinel").empty(); }));
    second.stop();
    third.stop();
    EXPECT_TRUE(world.until([&world] { return world.logged("sentinel \\S+ of \"main\" is down") == 2; }));
    said.master = master("10.0.0.2:6379", "0");
    world.pass(30'000);
    EXPECT_EQ(world.logged("before it was"), 0U) << "one of three is not believed what is older";
    said.sentinels = array({});
    EXPECT_TRUE(world.names("10.0.0.2:6379")) << "one of one is";
}

/// Answers that are none, or are broken, by what is odd about each.
std::map<std::string, std::string> odd_answers() {
    const auto sound = [](const std::string& ip, const std::string& port, const std::string& epoch) {
        return fields({"ip", ip, "port", port, "flags", "master", "config-epoch", epoch});
    };
    std::string deep;
    for (int i = 0; i < 5'000; ++i) {
        deep += "*1\r\n";
    }
    return {
        {"nil", nil()},
        {"an empty array", array({})},
        {"a number", integer(7)},
        {"a text", bulk(std::string(100, 'x'))},
        {"a megabyte", bulk(std::string(1'000'000, 'x'))},
        {"a long array", fields(std::vector<std::string>(30'000, "x"))},
        {"three megabytes", fields(std::vector<std::string>(30, std::string(100'000, 'x')))},
        {"deep arrays", deep + ":1\r\n"},
        {"half of the fields", fields({"ip", "10.0.0.1", "port", "6379", "flags", "master"})},
        {"an odd array",
         fields({"ip", "10.0.0.1", "port", "6379", "flags", "master", "config-epoch", "1", "x"})},
        {"no text", integers({1, 1, 1, 1, 1, 1, 1, 1})},
        {"port 0", sound("10.0.0.1", "0", "9")},
        {"port 65536", sound("10.0.0.1", "65536", "9")},
        {"no address", sound("", "6379", "9")},
        {"any address", sound("0.0.0.0", "6379", "9")},
        {"any IPv6 address", sound("::", "6379", "9")},
        {"a host with a break", sound("a\nb", "6379", "9")},
        {"a negative epoch", sound("10.0.0.1", "1", "-1")},
        {"a huge epoch", sound("10.0.0.1", "1", "99999999999999999999")},
        {"an error", error("ERR what?")},
        {"LOADING", error("LOADING Redis is loading the dataset in memory")},
        {"a line of no answer", "hello\r\n"},
    };
}

/// An answer that is none, or is broken, changes nothing: the log says so, and others are
/// believed.
TEST(AnOddSentinel, ChangesNothing) {
    const std::string primary = Scenario::primary_address;
    const std::map<std::string, std::string> answers = odd_answers();
    SentinelWorld world({first_sentinel, second_sentinel, third_sentinel});
    world.setup.limits = {{"default", "100000r/h", "charge_refund"}};
    world.setup.on_error = OnError::deny;
    Said odd_says{answers.begin()->second};
    Said sound_says{master(primary, "1")};
    Redis redis(world.events, world.network, primary);
    Scripted odd(world.events, world.network, first_sentinel, saying(odd_says));
    Scripted right(world.events, world.network, second_sentinel, saying(sound_says));
    Scripted none(world.events, world.network, third_sentinel);
    EXPECT_TRUE(world.names(primary));
    world.pass(1'000);
    EXPECT_EQ(world.ask("k"), "PASSED");
    EXPECT_EQ(world.logged("sentinel 10.0.1.3:26379 of \"main\" cannot be used: it is no sentinel"), 1U);
    for (const auto& [name, answer] : answers) {
        odd_says = {answer, answer, answer};
        right.forget();
        odd.forget();
        EXPECT_TRUE(world.until([&] { return odd.commands("sentinel").size() >= 2; }, 30'000)) << name;
        EXPECT_EQ(world.ask("k"), "PASSED") << name;
        EXPECT_TRUE(world.until([&right] { return !right.commands("sentinel").empty(); })) << name;
    }
    EXPECT_EQ(world.logged("sentinels name"), 1U) << "the primary is named once";
    EXPECT_GE(
        world.logged("sentinel 10.0.1.1:26379 of \"main\" cannot be used: its answer is none of a sentinel"),
        1U);
    EXPECT_GE(world.logged("sentinel 10.0.1.1:26379 of \"main\" cannot be used.*ERR what\\?"), 1U);
    EXPECT_LT(world.logged("sentinel 10.0.1.1:26379"), 6 * answers.size()) << "few lines tell";
}

/// A primary, a replica, and a sentinel that says what the test wants of both.
class Discovered : public testing::Test {
protected:
    Discovered() {
        world.setup.on_error = OnError::deny;
        world.setup.stores.front().fresh = 0;
        say("master", {{"", ""}});
    }

    static std::string listed(const std::string& address, const std::map<std::string, std::string>& changes) {
        std::map<std::string, std::string> all = {{"ip", host_of(address)},     {"port", port_of(address)},
                                                  {"flags", "slave"},           {"role-reported", "slave"},
                                                  {"master-link-status", "ok"}, {"replica-announced", "1"}};
        for (const auto& [name, value] : changes) {
            all[name] = value;
        }
        all.erase("");
        std::vector<std::string> words;
        for (const auto& [name, value] : all) {
            words.insert(words.end(), {name, value});
        }
        return fields(words);
    }

    /// The worker knows it when this returns: it has asked twice since.
    void say(const std::string& flags, const std::map<std::string, std::string>& of_replica) {
        said.master = master(Scenario::primary_address, "1", 0, flags);
        said.replicas = array({listed(Scenario::replica_address, of_replica)});
    }

    void wait_for_word() {
        sentinel.forget();
        EXPECT_TRUE(world.until([this] { return sentinel.commands("sentinel").size() >= 8; }, 30'000));
    }

    std::string ask() { return check(world, std::to_string(++nth)); }

    std::size_t read_at(Scripted& server) {
        server.forget();
        for (int i = 0; i < 3; ++i) {
            ask();
        }
        return server.commands("hmget").size();
    }

    SentinelWorld world;
    int nth = 0;
    Said said;
    Handler serves = reading({}, {});
    Scripted sentinel{world.events, world.network, first_sentinel, saying(said)};
    Scripted primary{world.events, world.network, Scenario::primary_address, serves};
    Scripted replica{world.events, world.network, Scenario::replica_address, serves};
};

/// A replica that lives is read from when the primary does not answer, whatever sentinels think of its
/// health: in TILT they hold to what they thought last. While the primary answers, no replica that they think
/// unfit is read.
TEST_F(Discovered, ALivingReplicaIsReadWithoutThePrimaryAlone) {
    EXPECT_TRUE(world.until([this] { return ask() == "PASSED 0"; }));
    wait_for_word();
    EXPECT_EQ(read_at(replica), 3U) << "a fit replica is read";
    const std::map<std::string, std::string> unfit[] = {
        {{"master-link-status", "err"}},
        {{"flags", "s_down,slave"}},
        {{"flags", "slave,disconnected"}},
        {{"flags", "s_down,o_down,slave,disconnected"}, {"master-link-status", "err"}}};
    for (const auto& as : unfit) {
        for (const char* flags : {"master", "s_down,o_down,master,disconnected"}) {
            say(flags, as);
            wait_for_word();
            EXPECT_EQ(read_at(primary), 3U) << flags << ", " << as.begin()->second;
            primary.stop();
            EXPECT_TRUE(world.until([this] { return ask() == "PASSED 0"; })) << flags << as.begin()->second;
            EXPECT_EQ(read_at(replica), 3U) << flags << ", " << as.begin()->second;
            primary.start();
            EXPECT_TRUE(world.until([this] { return read_at(primary) == 3; })) << flags << as.begin()->second;
        }
    }
}

/// One that belongs elsewhere is never read.
TEST_F(Discovered, AReplicaOfOthersIsNotRead) {
    EXPECT_TRUE(world.until([this] { return ask() == "PASSED 0"; }));
    const std::map<std::string, std::string> elsewhere[] = {
        {{"role-reported", "master"}, {"master-link-status", "err"}}, {{"replica-announced", "0"}}};
    for (const auto& as : elsewhere) {
        say("master", as);
        wait_for_word();
        primary.stop();
        world.pass(5'000);
        EXPECT_EQ(ask(), "ERROR_DENIED");
        EXPECT_EQ(read_at(replica), 0U);
        primary.start();
        EXPECT_TRUE(world.until([this] { return ask() == "PASSED 0"; }));
    }
}

TEST_F(Discovered, AnUnfitReplicaIsNotReadOnceItIsOfOthers) {
    EXPECT_TRUE(world.until([this] { return ask() == "PASSED 0"; }));
    const char* const down = "s_down,o_down,master,disconnected";
    say(down, {{"flags", "s_down,slave"}});
    wait_for_word();
    primary.stop();
    EXPECT_TRUE(world.until([this] { return ask() == "PASSED 0"; }));
    EXPECT_EQ(read_at(replica), 3U) << "nobody else answers";
    say(down, {{"flags", "s_down,slave"}, {"replica-announced", "0"}});
    wait_for_word();
    EXPECT_EQ(ask(), "ERROR_DENIED");
    EXPECT_EQ(read_at(replica), 0U);
}

/// A connected replica is read alone where sentinels think all unfit and the primary does not answer: the
/// others are tried when nobody else answers.
TEST_F(Discovered, AConnectedReplicaGoesFirst) {
    const std::string other_address = "10.0.0.3:6379";
    Scripted other(world.events, world.network, other_address, serves);
    const std::string gone =
        listed(other_address, {{"flags", "s_down,slave,disconnected"}, {"master-link-status", "err"}});
    said.replicas = array({listed(Scenario::replica_address, {}), gone});
    EXPECT_TRUE(world.until([this] { return ask() == "PASSED 0"; }));
    wait_for_word();
    EXPECT_TRUE(world.until([this] { return read_at(replica) == 3; })) << "the fit one is read";
    said.replicas = array({listed(Scenario::replica_address, {{"master-link-status", "err"}}), gone});
    wait_for_word();
    primary.stop();
    EXPECT_TRUE(world.until([this] { return read_at(replica) == 3; })) << "it is read without a primary";
    EXPECT_EQ(other.connections(), 0U) << "nobody has connected to the other one";
    replica.stop();
    EXPECT_TRUE(world.until([this] { return ask() == "PASSED 0"; })) << "the other one is tried";
    EXPECT_EQ(read_at(other), 3U);
    replica.start();
    other.stop();
    EXPECT_TRUE(world.until([this] { return read_at(replica) == 3; }));
}

}  // namespace
}  // namespace rate_limit::world::odd_sentinels_test
