#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "redis/command.h"
#include "t/unit/world_client.h"

// Answers of a real server to the same are compared by `make differential`; this is about what the world does
// with a server.

namespace rate_limit::world::world_server_test {
namespace {

TEST(WorldServer, AnswersCommandsThatAreCutAnywhere) {
    std::string bytes;
    CommandWriter writer;
    bytes += writer.ping();
    bytes += writer.increment("k", 3);
    bytes += writer.check("k");
    const std::string all = "+PONG\r\n:3\r\n*2\r\n$1\r\n3\r\n$-1\r\n";
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        ServerAt at;
        Session session(at.server);
        session.receive(bytes.substr(0, cut));
        std::string replies = session.take_replies();
        session.receive(bytes.substr(cut));
        EXPECT_EQ(replies + session.take_replies(), all) << cut;
    }
    ServerAt at;
    Session session(at.server);
    for (const char byte : bytes) {
        session.receive({&byte, 1});
    }
    EXPECT_EQ(session.take_replies(), all);
}

TEST(WorldServer, SaysWhatIsNoProtocol) {
    struct Case {
        const char* bytes;
        const char* error;
    };
    const Case cases[] = {
        {"*x\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
        {"*1\r\n:1\r\n", "-ERR Protocol error: expected '$'\r\n"},
        {"*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
    };
    for (const Case& c : cases) {
        ServerAt at;
        Session session(at.server);
        session.receive(c.bytes);
        EXPECT_TRUE(session.is_broken());
        EXPECT_EQ(session.take_replies(), c.error);
        session.receive("*1\r\n$4\r\nPING\r\n");
        EXPECT_EQ(session.take_replies(), "");
    }
}

TEST(WorldServer, ForgetsKeysByItsOwnClock) {
    ServerAt at;
    TestClient client(at.server);
    EXPECT_EQ(client("SET k v PX 1000"), "+OK");
    EXPECT_EQ(client("PTTL k"), ":1000");
    at.pass(1000);
    EXPECT_EQ(client("GET k"), "$1 v") << "still there in its last millisecond";
    at.now += 999;
    EXPECT_EQ(client("PTTL k"), ":0");
    at.now += 1;
    EXPECT_EQ(client("DBSIZE"), ":1") << "until somebody asks for it";
    EXPECT_EQ(client("GET k"), "$-1");
    EXPECT_EQ(client("DBSIZE"), ":0");
    at.pass(-5000);
    EXPECT_EQ(client("GET k"), "$-1") << "also where the clock goes back";
    EXPECT_EQ(client("TIME"), "*2 $10 1699999996 $4 1000");
}

TEST(WorldServer, AsksForPasswords) {
    ServerAt at;
    at.server.state.passwords = {{"default", "secret"}, {"limiter", "other"}};
    TestClient client(at.server);
    EXPECT_EQ(client("PING"), "-NOAUTH Authentication required.");
    EXPECT_EQ(client("AUTH wrong"), "-WRONGPASS invalid username-password pair or user is disabled.");
    EXPECT_EQ(client("PING"), "-NOAUTH Authentication required.");
    EXPECT_EQ(client("AUTH limiter other"), "+OK");
    EXPECT_EQ(client("PING"), "+PONG");
    EXPECT_EQ(TestClient(at.server)("AUTH secret"), "+OK");
    EXPECT_EQ(TestClient(at.server)("PING"), "-NOAUTH Authentication required.")
        << "each connection by itself";
}

TEST(WorldServer, KeepsDatabasesApart) {
    ServerAt at;
    TestClient one(at.server);
    TestClient other(at.server);
    EXPECT_EQ(one("SELECT 2"), "+OK");
    EXPECT_EQ(one("SET k v"), "+OK");
    EXPECT_EQ(other("GET k"), "$-1");
    EXPECT_EQ(other("SELECT 2"), "+OK");
    EXPECT_EQ(other("GET k"), "$1 v");
}

struct State {
    std::function<void(ServerState& state)> set;
    const char* check;   ///< HMGET
    const char* write;   ///< HINCRBY
    const char* script;  ///< that writes
    const char* ping;
};

TEST(WorldServer, RefusesByItsState) {
    const char* const nothing = "*2 $-1 $-1";
    const char* const loading = "-LOADING Redis is loading the dataset in memory";
    const char* const stale =
        "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
    const char* const busy =
        "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
    const State states[] = {
        {[](ServerState&) {}, nothing, ":1", "+OK", "+PONG"},
        {[](ServerState& s) { s.loading = true; }, loading, loading, loading, loading},
        {[](ServerState& s) { s.busy = true; }, busy, busy, busy, busy},
        {[](ServerState& s) { s.out_of_memory = true; }, nothing, "-OOM ", "-OOM ", "+PONG"},
        {[](ServerState& s) { s.cannot_save = true; }, nothing, "-MISCONF ", "-MISCONF ", "-MISCONF "},
        {[](ServerState& s) { s.lacks_replicas = true; }, nothing, "-NOREPLICAS ", "-NOREPLICAS ", "+PONG"},
        {[](ServerState& s) { s.role = ServerRole::replica; }, nothing, "-READONLY ", "-READONLY ", "+PONG"},
        {[](ServerState& s) {
             s.role = ServerRole::replica;
             s.link_up = s.serves_stale = false;
         },
         stale, "-READONLY ", stale, stale},
        {[](ServerState& s) {
             s.forbidden = {"hincrby", "hmget"};
         },
         "-NOPERM ", "-NOPERM ", "+OK", "+PONG"},
        {[](ServerState& s) { s.unknown = {"eval"}; }, nothing, ":1",
         "-ERR unknown command 'EVAL', with args beginning with: ", "+PONG"},
    };
    for (const State& state : states) {
        ServerAt server;
        TestClient client(server.server);
        state.set(server.server.state);
        const auto begins = [](const std::string& text, const std::string& start) {
            return text.compare(0, start.size(), start) == 0 ? "" : text + " is not " + start;
        };
        EXPECT_EQ(begins(client("HMGET k a b"), state.check), "");
        EXPECT_EQ(begins(client("HINCRBY k a 1"), state.write), "");
        EXPECT_EQ(begins(client.send({"EVAL", "return redis.call('SET', 's', '1')", "0"}), state.script), "");
        EXPECT_EQ(begins(client("PING"), state.ping), "");
    }
}

TEST(WorldServer, KeepsScriptsUntilTheyAreFlushed) {
    ServerAt at;
    TestClient client(at.server);
    CommandWriter writer;
    const std::string digest(script(ScriptName::charge).digest());
    const std::string call = "EVALSHA " + digest + " 1 k 5 1700000000000 1700000060000 1700000120000";
    EXPECT_EQ(client(call), "-NOSCRIPT No matching script. Please use EVAL.");
    client.session().receive(writer.load(script(ScriptName::charge)));
    EXPECT_EQ(TestClient::line(client.session().take_replies()), "$40 " + digest);
    EXPECT_EQ(client(call), "*2 :5 :1700000060000");
    EXPECT_EQ(client("HMGET k used reset"), "*2 $1 5 $13 1700000060000");
    EXPECT_EQ(client("SCRIPT FLUSH"), "+OK");
    EXPECT_EQ(client(call), "-NOSCRIPT No matching script. Please use EVAL.");
    client.session().receive(writer.load(script(ScriptName::charge)));
    client.session().take_replies();
    at.server.forget_scripts();
    EXPECT_EQ(client(call), "-NOSCRIPT No matching script. Please use EVAL.");
}

TEST(WorldServer, WordsErrorsAsItsVersionDoes) {
    struct Case {
        ServerVersion version;
        const char* plain;
        const char* called;
        const char* refused;
        const char* forbidden;
    };
    const Case cases[] = {
        {ServerVersion::redis_6,
         "-NOPERM this user has no permissions to run the 'hget' command or its subcommand",
         "@user_script:1: WRONGTYPE Operation against a key holding the wrong kind of value",
         "@user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.",
         "-@user_script: 1: The user executing the script can't run this command or subcommand"},
        {ServerVersion::redis_7, "-NOPERM this user has no permissions to run the 'hget' command",
         "-WRONGTYPE Operation against a key holding the wrong kind of value script: ",
         "-OOM command not allowed when used memory > 'maxmemory'. script: ",
         "-ERR The user executing the script can't run this command or subcommand"},
        {ServerVersion::redis_8, "-NOPERM User default has no permissions to run the 'hget' command",
         "-WRONGTYPE Operation against a key holding the wrong kind of value script: ",
         "-OOM command not allowed when used memory > 'maxmemory'. script: ",
         "-ERR ACL failure in script: User default has no permissions to run the 'hget' command"},
    };
    for (const Case& c : cases) {
        ServerAt at;
        TestClient client(at.server);
        at.server.state.version = c.version;
        client("SET s v");
        const auto contains = [](const std::string& text, const char* part) {
            return text.find(part) != std::string::npos ? "" : text + " has no " + part;
        };
        EXPECT_EQ(contains(client.send({"EVAL", "return redis.call('HLEN', 's')", "0"}), c.called), "");
        at.server.state.out_of_memory = true;
        EXPECT_EQ(contains(client.send({"EVAL", "return redis.call('SET', 's', 'v')", "0"}), c.refused), "");
        at.server.state.forbidden = {"hget"};
        EXPECT_EQ(client("HGET s f"), c.plain);
        EXPECT_EQ(contains(client.send({"EVAL", "return redis.pcall('HGET', 's', 'f')", "0"}), c.forbidden),
                  "");
    }
}

TEST(WorldServer, LetsScriptsAskForNoTimeWhereToldSo) {
    ServerAt at;
    TestClient client(at.server);
    at.server.state.not_in_scripts = {"time"};
    client.session().receive(CommandWriter().load(script(ScriptName::bucket)));
    client.session().take_replies();
    const std::string call =
        "EVALSHA " + std::string(script(ScriptName::bucket).digest()) + " 1 k 1000 10000 1 1 1";
    EXPECT_EQ(client(call), "-NOTIME ERR This Redis command is not allowed from script");
    EXPECT_EQ(client("TIME"), "*2 $10 1700000000 $1 0");
}

TEST(WorldServer, TellsOfItsMemoryAndReplication) {
    ServerAt at;
    TestClient client(at.server);
    at.server.state.maxmemory = 1000;
    at.server.state.maxmemory_policy = "allkeys-lru";
    at.server.state.replicas = 2;
    EXPECT_NE(client("INFO memory").find("maxmemory:1000 maxmemory_policy:allkeys-lru"), std::string::npos);
    EXPECT_NE(client("INFO replication").find("role:master connected_slaves:2"), std::string::npos);
    at.server.state.min_replicas_to_write = 1;
    EXPECT_NE(client("INFO replication").find("min_slaves_good_slaves:2"), std::string::npos);
    at.server.state.role = ServerRole::replica;
    EXPECT_NE(client("INFO replication").find("role:slave master_link_status:up"), std::string::npos);
}

}  // namespace
}  // namespace rate_limit::world::world_server_test
