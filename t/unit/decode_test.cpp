#include "redis/decode.h"
#include "redis/script_reply.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "raw_reply.h"

namespace rate_limit::decode_test {
namespace {

TEST(Fault, IsReadFromTheText) {
    const std::string wrapped = "ERR Error running script (call to f_0123): @user_script:9: ";
    const std::string place = "@user_script: 9: ";
    const std::string refusal = "The user executing the script can't run this command or subcommand";
    const std::pair<std::string, Fault> errors[] = {
        {"NOTIME ERR The user executing the script can't run this command", Fault::notime},
        {"NOSCRIPT No matching script. Please use EVAL.", Fault::noscript},
        {"READONLY You can't write against a read only replica.", Fault::readonly},
        {"LOADING Redis is loading the dataset in memory", Fault::loading},
        {"MASTERDOWN Link with MASTER is down", Fault::masterdown},
        {"MOVED 3999 127.0.0.1:6381", Fault::moved},
        {"ASK 3999 127.0.0.1:6381", Fault::ask},
        {"CLUSTERDOWN Hash slot not served", Fault::clusterdown},
        {"CLUSTERDOWN The cluster is down and only accepts read commands", Fault::clusterdown},
        {"CROSSSLOT Keys in request don't hash to the same slot", Fault::moved},
        {"TRYAGAIN Multiple keys request during rehashing of slot", Fault::tryagain},
        {"ASKING", Fault::other},
        {"NOAUTH Authentication required.", Fault::auth},
        {"WRONGPASS invalid username-password pair", Fault::auth},
        {"NOPERM this user has no permissions", Fault::noperm},
        {"BUSY Redis is busy running a script.", Fault::busy},
        {"OOM command not allowed when used memory > 'maxmemory'.", Fault::oom},
        {"OOM", Fault::oom},
        {"WRONGTYPE Operation against a key", Fault::wrongtype},
        {"MISCONF Redis is configured to save RDB snapshots", Fault::unwilling},
        {"NOREPLICAS Not enough good replicas to write.", Fault::unwilling},
        {"ERR max number of clients reached", Fault::denied},
        {"DENIED Redis is running in protected mode because protected mode is enabled", Fault::denied},
        {"ERR hash value is not an integer", Fault::other},
        {"BUSYKEY Target key name already exists.", Fault::other},
        {"ERR OOM", Fault::other},
        {"", Fault::other},

        // Passwords that are refused without a code.
        {"ERR AUTH <password> called without any password configured for the default user.", Fault::auth},
        {"ERR invalid password", Fault::auth},
        {"ERR Client sent AUTH, but no password is set", Fault::auth},

        // Commands that a user may not call in a script, and keys that a user may not access.
        {"ERR " + refusal + " script: 1234, on @user_script:20.", Fault::noperm},
        {wrapped + place + refusal, Fault::noperm},
        {place + refusal, Fault::noperm},
        {wrapped + place + "The user executing the script is lacking the permissions for the command",
         Fault::noperm},
        {"ERR ACL failure in script: User nginx has no permissions to run the 'hset'", Fault::noperm},
        {"NOPERM this user has no permissions to access one of the keys used as arguments", Fault::other},
        {"NOPERM No permissions to access a key", Fault::other},
        {"ERR The user executing the script can't access at least one of the keys mentioned", Fault::other},
        {wrapped + place + "The user executing the script can't access at least one of the keys mentioned",
         Fault::other},
        {"ERR ACL failure in script: No permissions to access a key", Fault::other},

        // Servers without Lua: Redis 5 and 6, 7 and later, Valkey without its engine.
        {"ERR unknown command `EVALSHA`, with args beginning with: `1234`, ", Fault::nolua},
        {"ERR unknown command 'EVALSHA', with args beginning with: '1234' ", Fault::nolua},
        {"ERR unknown command 'eval'", Fault::nolua},
        {"ERR Could not find scripting engine 'lua'", Fault::nolua},
        {"ERR unknown command 'HINCRBY', with args beginning with: 'eval' ", Fault::other},
        {"ERR unknown command 'eva", Fault::other},
        {"ERR unknown command", Fault::other},

        // Errors of a command inside a script.
        {wrapped + "WRONGTYPE Operation against a key holding the wrong kind of value", Fault::wrongtype},
        {wrapped + place + "-OOM command not allowed", Fault::oom},
        {place + "-OOM command not allowed", Fault::oom},
        {wrapped + place + "-MISCONF Errors writing to the AOF file: No space left on device",
         Fault::unwilling},
        {wrapped + "ERR something", Fault::other},
        {"ERR Error running script", Fault::other},
        {"@user_script: 9", Fault::other},
    };
    for (const auto& [text, fault] : errors) {
        EXPECT_EQ(to_string(fault_of(*RawReply("-" + text + "\r\n"))), to_string(fault)) << text;
    }
    EXPECT_EQ(fault_of(*RawReply("+OK\r\n")), Fault::none);
    EXPECT_EQ(fault_of(*RawReply("*0\r\n")), Fault::none);
}

TEST(LackingRightWithin, IsOfAScriptThatHasBegun) {
    const std::pair<std::string, bool> errors[] = {
        {"ERR ACL failure in script: User u has no permissions to run the 'set' command", true},
        {"NOPERM ACL failure in script: User u has no permissions to run the 'set' command", true},
        {"ERR The user executing the script can't run this command or subcommand", true},
        {"NOPERM User u has no permissions to run the 'evalsha' command", false},
        {"NOPERM No permissions to access a key", false},
        {"ERR something", false},
    };
    for (const auto& [text, within] : errors) {
        EXPECT_EQ(lacks_right_within(*RawReply("-" + text + "\r\n")), within) << text;
    }
}

TEST(LackingKeyRight, IsToldFromOtherErrors) {
    const std::pair<std::string, bool> errors[] = {
        {"NOPERM this user has no permissions to access one of the keys used as arguments", true},
        {"NOPERM No permissions to access a key", true},
        {"ERR ACL failure in script: No permissions to access a key", true},
        {"ERR Error running script (call to f_1): @user_script:9: @user_script: 9: "
         "The user executing the script can't access at least one of the keys mentioned",
         true},
        {"NOPERM this user has no permissions to run the 'hmget' command", false},
        {"ERR you may not access a key", false},
    };
    for (const auto& [text, lacks] : errors) {
        EXPECT_EQ(lacks_key_right(*RawReply("-" + text + "\r\n")), lacks) << text;
    }
    EXPECT_FALSE(lacks_key_right(*RawReply("+NOPERM No permissions to access a key\r\n")));
}

TEST(AnswersPing, WhereTheNodeServesReads) {
    EXPECT_TRUE(answers_ping(*RawReply("+PONG\r\n")));
    EXPECT_TRUE(answers_ping(*RawReply("-MISCONF Redis is configured to save RDB snapshots\r\n")));
    EXPECT_FALSE(answers_ping(*RawReply("-MISCONFIGURED\r\n")));
    EXPECT_FALSE(answers_ping(*RawReply("-LOADING Redis is loading the dataset in memory\r\n")));
}

TEST(BrokenCount, IsToldFromOtherErrors) {
    EXPECT_TRUE(is_broken_count(*RawReply("-ERR hash value is not an integer\r\n")));
    EXPECT_TRUE(is_broken_count(*RawReply("-ERR increment or decrement would overflow\r\n")));
    EXPECT_TRUE(is_broken_count(*RawReply("-WRONGTYPE Operation against a key\r\n")));
    EXPECT_FALSE(is_broken_count(*RawReply("-ERR unknown command\r\n")));
    EXPECT_FALSE(is_broken_count(*RawReply(":1\r\n")));
}

TEST(Fault, HasANameAndItsTraits) {
    struct Known {
        Fault fault;
        const char* name;
        bool of_node;
        bool of_writes;
        bool refusal;
    };
    const Known all[] = {
        {Fault::none, "none", false, false, false},
        {Fault::malformed, "malformed", false, false, false},
        {Fault::notime, "notime", false, false, true},
        {Fault::noscript, "noscript", false, false, true},
        {Fault::readonly, "readonly", true, true, true},
        {Fault::loading, "loading", true, false, true},
        {Fault::masterdown, "masterdown", true, false, true},
        {Fault::moved, "moved", true, false, true},
        {Fault::ask, "ask", true, false, true},
        {Fault::clusterdown, "clusterdown", true, false, true},
        {Fault::tryagain, "tryagain", true, false, true},
        {Fault::auth, "auth", true, false, true},
        {Fault::denied, "denied", true, false, true},
        {Fault::noperm, "noperm", true, true, true},
        {Fault::busy, "busy", true, false, false},
        {Fault::oom, "oom", true, true, true},
        {Fault::unwilling, "unwilling", true, true, true},
        {Fault::nolua, "nolua", true, true, true},
        {Fault::wrongtype, "wrongtype", false, false, false},
        {Fault::other, "other", false, false, false},
    };
    EXPECT_EQ(std::size(all), fault_count);
    for (const Known& known : all) {
        EXPECT_EQ(to_string(known.fault), known.name);
        EXPECT_EQ(is_node_fault(known.fault), known.of_node) << known.name;
        EXPECT_EQ(refuses_writes(known.fault), known.of_writes) << known.name;
        EXPECT_EQ(is_refusal(known.fault), known.refusal) << known.name;
    }
}

TEST(Fault, SaysTheRemedyWhereAShardIsAClustersNode) {
    for (const Fault fault : {Fault::moved, Fault::ask}) {
        const std::string text = explain(fault);
        EXPECT_EQ(text.substr(0, text.find(':')), to_string(fault));
        EXPECT_NE(text.find("use \"cluster\""), std::string::npos) << text;
    }
}

using Reader = Fault (*)(const Reply&, Window&);

void expect_window(Reader read, const char* bytes, std::int64_t used, Millis reset,
                   Fault fault = Fault::none) {
    Window window{-1, -1};
    EXPECT_EQ(read(*RawReply(bytes), window), fault) << bytes;
    EXPECT_EQ(window.used, used) << bytes;
    EXPECT_EQ(window.reset, reset) << bytes;
}

TEST(Check, ReadsAWindow) {
    expect_window(read_check, "*2\r\n$2\r\n42\r\n$13\r\n1700000000000\r\n", 42, 1'700'000'000'000);
    expect_window(read_check, "*2\r\n$1\r\n0\r\n$1\r\n5\r\n", 0, 5);
    expect_window(read_check, "*2\r\n$-1\r\n$1\r\n5\r\n", 0, 5);
}

TEST(Check, MissingAndUnreadableValuesAreNoWindow) {
    for (const char* bytes :
         {"*2\r\n$-1\r\n$-1\r\n", "*2\r\n$2\r\n42\r\n$-1\r\n", "*2\r\n$1\r\nx\r\n$1\r\n5\r\n",
          "-WRONGTYPE Operation against a key\r\n", "*2\r\n$1\r\n5\r\n$1\r\nx\r\n",
          "*2\r\n$2\r\n-1\r\n$1\r\n5\r\n", "*2\r\n$1\r\n5\r\n$2\r\n-5\r\n"}) {
        expect_window(read_check, bytes, 0, 0);
    }
}

TEST(Check, RefusesWhatIsNoAnswer) {
    for (const char* bytes :
         {"*1\r\n$1\r\n5\r\n", "*3\r\n$1\r\n5\r\n$1\r\n5\r\n$1\r\n5\r\n", "*0\r\n", "*-1\r\n",
          "*2\r\n*0\r\n$1\r\n5\r\n", "*2\r\n-ERR x\r\n$1\r\n5\r\n", "+OK\r\n", ":5\r\n", "$1\r\n5\r\n",
          "%1\r\n:5\r\n:5\r\n", "*5\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n"}) {
        expect_window(read_check, bytes, 0, 0, Fault::malformed);
    }
    expect_window(read_check, "-LOADING x\r\n", 0, 0, Fault::loading);
}

TEST(Charge, ReadsUsedAndReset) {
    expect_window(read_charge, "*2\r\n:42\r\n:1700000000000\r\n", 42, 1'700'000'000'000);
    expect_window(read_charge, "*2\r\n:0\r\n:0\r\n", 0, 0);
}

TEST(Charge, RefusesTheRest) {
    for (const char* bytes : {"*2\r\n:1\r\n$-1\r\n", "*2\r\n$-1\r\n:5\r\n", "*2\r\n:-1\r\n:5\r\n",
                              "*1\r\n:1\r\n", ":1\r\n", "$-1\r\n"}) {
        expect_window(read_charge, bytes, 0, 0, Fault::malformed);
    }
    expect_window(read_charge, "-NOSCRIPT x\r\n", 0, 0, Fault::noscript);
}

TEST(Charge, ReadsByHowMuchItHasRaisedTheWindow) {
    const auto expect = [](std::string_view bytes, Fault fault, std::int64_t raised = 0) {
        Window window{7, 7};
        std::int64_t read = 7;
        EXPECT_EQ(read_raise(*RawReply(bytes), 9, window, read), fault) << bytes;
        EXPECT_EQ(read, raised) << bytes;
        EXPECT_EQ(window.used, fault == Fault::none ? 10 : 0) << bytes;
        EXPECT_EQ(window.reset, fault == Fault::none ? 1'700'000'000'000 : 0) << bytes;
    };
    expect("*3\r\n:10\r\n:1700000000000\r\n:0\r\n", Fault::none);
    expect("*3\r\n:10\r\n:1700000000000\r\n:9\r\n", Fault::none, 9);
    expect("*4\r\n:10\r\n:1700000000000\r\n:9\r\n:1\r\n", Fault::none, 9);
    for (const char* bytes :
         {"*2\r\n:10\r\n:5\r\n", "*3\r\n:10\r\n:5\r\n:10\r\n", "*3\r\n:10\r\n:5\r\n:-1\r\n",
          "*3\r\n:1\r\n:5\r\n:2\r\n", "*3\r\n:10\r\n:5\r\n$-1\r\n", ":10\r\n"}) {
        expect(bytes, Fault::malformed);
    }
    expect("-NOSCRIPT x\r\n", Fault::noscript);
}

TEST(Scripts, SayThatTheyHaveReplacedAnotherType) {
    for (const std::size_t words :
         {words_of_charge, words_of_raise, words_of_reserve, words_of_bucket, words_of_hold}) {
        const auto read = [words](std::size_t count, std::string_view last) {
            std::string bytes = "*" + std::to_string(count) + "\r\n";
            for (std::size_t i = 1; i < count; ++i) {
                bytes += ":1\r\n";
            }
            const RawReply reply(bytes += last);
            return std::pair(fault_of_script(*reply, words), replaced_another_type(*reply, words));
        };
        EXPECT_EQ(read(words, ":1\r\n"), std::pair(Fault::none, false)) << words;
        EXPECT_EQ(read(words + 1, ":1\r\n"), std::pair(Fault::none, true)) << words;
        for (const char* other : {":0\r\n", ":2\r\n", "$-1\r\n", "$1\r\nx\r\n", "*1\r\n:1\r\n"}) {
            EXPECT_EQ(read(words + 1, other), std::pair(Fault::malformed, false)) << words << other;
        }
        EXPECT_EQ(read(words - 1, ":1\r\n"), std::pair(Fault::malformed, false)) << words;
        EXPECT_EQ(read(words + 2, ":1\r\n"), std::pair(Fault::malformed, false)) << words;
    }
    const RawReply error("-WRONGTYPE x\r\n");
    EXPECT_EQ(fault_of_script(*error, words_of_hold), Fault::wrongtype);
    EXPECT_FALSE(replaced_another_type(*error, words_of_hold));
}

TEST(Scripts, SayThatAWindowHasTakenTheirPlace) {
    const RawReply charged("*3\r\n:5\r\n:1700000000000\r\n:1\r\n");
    Window window;
    EXPECT_EQ(read_charge(*charged, window), Fault::none);
    EXPECT_EQ(window.used, 5);
    EXPECT_EQ(window.reset, 1'700'000'000'000);
    EXPECT_TRUE(replaced_another_type(*charged, words_of_charge));
    EXPECT_FALSE(replaced_another_type(*RawReply("*2\r\n:5\r\n:1\r\n"), words_of_charge));
    for (const char* other : {"*3\r\n:5\r\n:1700000000000\r\n:2\r\n", "*3\r\n:5\r\n:1700000000000\r\n$-1\r\n",
                              "*4\r\n:5\r\n:1700000000000\r\n:1\r\n:1\r\n"}) {
        EXPECT_EQ(read_charge(*RawReply(other), window), Fault::malformed) << other;
    }
    const RawReply reserved("*4\r\n:2\r\n:2\r\n:1700000000000\r\n:1\r\n");
    std::int64_t granted = 0;
    const ReserveCall call{10, 3600, 2, 1, 1'700'000'000'000 - 1000};
    EXPECT_EQ(read_reserve(*reserved, call, granted, window), Fault::none);
    EXPECT_EQ(granted, 2);
    EXPECT_TRUE(replaced_another_type(*reserved, words_of_reserve));
    EXPECT_FALSE(replaced_another_type(*RawReply("*3\r\n:2\r\n:2\r\n:1\r\n"), words_of_reserve));
}

TEST(Reserve, RefusesWhatIsNoAnswer) {
    std::int64_t granted = -1;
    Window window;
    const ReserveCall call{100, 60, 10, 1, 1'700'000'000'000 - 30'000};
    for (const char* bytes :
         {"*3\r\n:-1\r\n:1\r\n:5\r\n", "*3\r\n:1\r\n$-1\r\n:5\r\n", "*3\r\n$-1\r\n:1\r\n:5\r\n",
          "*2\r\n:1\r\n:5\r\n", "*4\r\n:1\r\n:1\r\n:5\r\n:5\r\n", "*3\r\n:1\r\n:1\r\n*1\r\n:5\r\n", ":1\r\n",
          "$-1\r\n"}) {
        EXPECT_EQ(read_reserve(*RawReply(bytes), call, granted, window), Fault::malformed) << bytes;
        EXPECT_EQ(granted, 0) << bytes;
        EXPECT_EQ(window.reset, 0) << bytes;
    }
    EXPECT_EQ(read_reserve(*RawReply("-NOSCRIPT x\r\n"), call, granted, window), Fault::noscript);
}

TEST(Reserve, ReadsAndBelievesWhatTheScriptCanSay) {
    constexpr Millis at = 1'700'000'000'000;
    constexpr Millis end = at + 30'000;
    struct Case {
        std::int64_t granted;
        Window window;
        bool possible;
    };
    const auto expect = [](const ReserveCall& call, const std::vector<Case>& cases) {
        for (const Case& one : cases) {
            std::string bytes = "*3\r\n:" + std::to_string(one.granted) +
                                "\r\n:" + std::to_string(one.window.used) +
                                "\r\n:" + std::to_string(one.window.reset) + "\r\n";
            std::int64_t granted = 7;
            Window window;
            const Fault fault = read_reserve(*RawReply(bytes), call, granted, window);
            EXPECT_EQ(fault, one.possible ? Fault::none : Fault::malformed) << bytes;
            EXPECT_EQ(granted, one.possible ? one.granted : 0) << bytes;
            EXPECT_EQ(window.used, one.possible ? one.window.used : 0) << bytes;
            EXPECT_EQ(window.reset, one.possible ? one.window.reset : 0) << bytes;
        }
    };
    const Millis latest = latest_reset(60, at);
    // Asked for nothing, but an earlier call wanted 20.
    expect({100, 60, 0, 0, at, 20}, {{20, {20, end}, true},
                                     {1, {5000, end}, true},
                                     {0, {0, 0}, true},
                                     {21, {21, end}, false},
                                     {5, {4, end}, false},
                                     {5, {5, at}, false}});
    // Asked for 10, and so did an earlier call, which was granted nothing.
    expect({100, 60, 10, 1, at, 10}, {{0, {20, end}, true}, {0, {0, 0}, true}, {0, {20, 0}, false}});
    // Asked for 10 of 100, and no fewer than 3.
    expect({100, 60, 10, 3, at}, {{10, {10, end}, true},
                                  {3, {100, end}, true},
                                  {10, {100, latest}, true},
                                  {10, {10, at + 1}, true},
                                  {0, {98, end}, true},
                                  {0, {5000, end}, true},
                                  {2, {2, end}, false},
                                  {11, {11, end}, false},
                                  {10, {9, end}, false},
                                  {10, {101, end}, false},
                                  {10, {10, at}, false},
                                  {10, {10, latest + 1}, false},
                                  {10, {10, 0}, false},
                                  {0, {97, end}, false},
                                  {0, {98, at}, false},
                                  {0, {98, 0}, false},
                                  {0, {0, 0}, false},
                                  {0, {0, end}, false}});
    // Asked for all 10 or nothing.
    expect({100, 60, 10, 10, at}, {{10, {10, end}, true}, {9, {100, end}, false}, {0, {91, end}, true}});
    // A request that costs nothing asks only for the window.
    expect({100, 60, 0, 0, at}, {{0, {0, 0}, true},
                                 {0, {0, end}, true},
                                 {0, {40, end}, true},
                                 {0, {140, end}, true},
                                 {0, {40, 0}, false},
                                 {0, {0, at}, false},
                                 {1, {1, end}, false}});
    // Asked for more than the whole limit.
    expect({1, 60, 5, 5, at}, {{0, {0, 0}, true}, {5, {5, end}, false}});
}

TEST(Increment, ReadsUsed) {
    std::int64_t used = -1;
    EXPECT_EQ(read_increment(*RawReply(":42\r\n"), used), Fault::none);
    EXPECT_EQ(used, 42);
    for (const char* bytes : {":-1\r\n", "$2\r\n42\r\n", "*1\r\n:42\r\n", "$-1\r\n", "+OK\r\n"}) {
        EXPECT_EQ(read_increment(*RawReply(bytes), used), Fault::malformed) << bytes;
        EXPECT_EQ(used, 0) << bytes;
    }
    EXPECT_EQ(read_increment(*RawReply("-READONLY x\r\n"), used), Fault::readonly);
}

TEST(Evicts, NeedsALimitAndAPolicy) {
    const std::string_view before = "# Memory\r\nused_memory:1000\r\nmaxmemory_human:7B\r\n";
    const auto info = [before](std::string_view rest) { return std::string(before) + std::string(rest); };
    EXPECT_TRUE(evicts(info("maxmemory:100\r\nmaxmemory_policy:allkeys-lru\r\n")));
    EXPECT_TRUE(evicts(info("maxmemory_policy:volatile-ttl\r\nmaxmemory:100")));
    EXPECT_FALSE(evicts(info("maxmemory:100\r\nmaxmemory_policy:noeviction\r\n")));
    EXPECT_FALSE(evicts(info("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n")));
    EXPECT_FALSE(evicts(info("maxmemory:100\r\n")));
    EXPECT_FALSE(evicts(info("maxmemory_policy:allkeys-lru\r\n")));
    EXPECT_FALSE(evicts(""));
}

}  // namespace
}  // namespace rate_limit::decode_test
