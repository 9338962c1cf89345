#include "redis/command.h"
#include "core/limit/bucket.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rate_limit::command_test {
namespace {

std::string resp(const std::vector<std::string>& words) {
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
        text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return text;
}

TEST(Command, IsARespArray) {
    CommandWriter writer;
    EXPECT_EQ(writer.ping(), "*1\r\n$4\r\nPING\r\n");
    EXPECT_EQ(writer.select(15), "*2\r\n$6\r\nSELECT\r\n$2\r\n15\r\n");
    EXPECT_EQ(writer.info_memory(), resp({"INFO", "memory"}));
    EXPECT_EQ(writer.load(script(ScriptName::charge)),
              resp({"SCRIPT", "LOAD", std::string(script(ScriptName::charge).text)}));
}

TEST(Command, WhatSentinelsAndClustersAreAsked) {
    CommandWriter writer;
    EXPECT_EQ(writer.info_replication(), resp({"INFO", "replication"}));
    EXPECT_EQ(writer.readonly(), resp({"READONLY"}));
    EXPECT_EQ(writer.readwrite(), resp({"READWRITE"}));
    EXPECT_EQ(writer.asking(), resp({"ASKING"}));
    EXPECT_EQ(writer.cluster_slots(), resp({"CLUSTER", "SLOTS"}));
    EXPECT_EQ(writer.sentinel_master("my master"), resp({"SENTINEL", "MASTER", "my master"}));
    EXPECT_EQ(writer.sentinel_replicas("m"), resp({"SENTINEL", "REPLICAS", "m"}));
    EXPECT_EQ(writer.sentinel_sentinels("m"), resp({"SENTINEL", "SENTINELS", "m"}));
}

TEST(Command, AuthWithAndWithoutUsername) {
    CommandWriter writer;
    EXPECT_EQ(writer.auth("", "secret word"), resp({"AUTH", "secret word"}));
    EXPECT_EQ(writer.auth("nginx", "secret"), resp({"AUTH", "nginx", "secret"}));
}

TEST(Command, CheckAndIncrement) {
    CommandWriter writer;
    EXPECT_EQ(writer.check("rl:core/60:alice"), resp({"HMGET", "rl:core/60:alice", "used", "reset"}));
    EXPECT_EQ(writer.increment("k", 1'000'000'000), resp({"HINCRBY", "k", "used", "1000000000"}));
}

TEST(Command, AnyBytesAreAKey) {
    const std::string key("a\r\n\0$1\xff", 7);
    CommandWriter writer;
    EXPECT_EQ(writer.check(key), resp({"HMGET", key, "used", "reset"}));
}

/// A script's call by its digest, or by its text.
std::string call(ScriptName name, bool by_text, std::vector<std::string> words) {
    const std::string_view named = by_text ? script(name).text : script(name).digest();
    words.insert(words.begin(), {by_text ? "EVAL" : "EVALSHA", std::string(named), "1", "k"});
    return resp(words);
}

TEST(Command, ScriptsByDigestAndByText) {
    CommandWriter writer;
    for (const bool text : {false, true}) {
        EXPECT_EQ(writer.charge({"k", 1'700'000'000'000, 1'700'000'060'000, 1'700'000'120'000}, 3, text),
                  call(ScriptName::charge, text, {"3", "1700000000000", "1700000060000", "1700000120000"}));
        EXPECT_EQ(writer.charge({"k", 7, 8, 9}, 3, text, 0),
                  call(ScriptName::charge, text, {"3", "7", "8", "9", "0"}));
        EXPECT_EQ(writer.encoded().words, words_of_raise);
        EXPECT_EQ(writer.repair({"k", 1, 2, 3}, text), call(ScriptName::repair, text, {"1", "2", "3"}));
        EXPECT_EQ(writer.reserve({"k", 7, 8, 9}, {5000, 20, 1, 1}, text),
                  call(ScriptName::reserve, text, {"5000", "20", "1", "7", "8", "9"}));
        EXPECT_EQ(writer.reserve({"k", 7, 8, 9}, {5000, 20, 1, 4}, text),
                  call(ScriptName::reserve, text, {"5000", "20", "1", "7", "8", "9", "4"}));
        EXPECT_EQ(
            writer.reserve({"k", 7, 8, 9}, {5000, 20, 1, 4, 0, 0, {"me", 17}}, text),
            call(ScriptName::reserve, text, {"5000", "20", "1", "7", "8", "9", "4", "0", "0", "me", "17"}));
        EXPECT_EQ(writer.refund("k", 3, 1'700'000'000'000, {"me", 17}, Emptied::closes, text),
                  call(ScriptName::refund, text, {"3", "1700000000000", "", "me", "17"}));
        EXPECT_EQ(writer.refund("k", 3, 1'700'000'000'000, {}, Emptied::closes, text),
                  call(ScriptName::refund, text, {"3", "1700000000000"}));
        EXPECT_EQ(writer.refund("k", 3, 1'700'000'000'000, {}, Emptied::stays, text),
                  call(ScriptName::refund, text, {"3", "1700000000000", "keep"}));
        EXPECT_EQ(writer.draw("k", {100'000'000, 2'000'000'000, 3, 1, 4, {}}, text),
                  call(ScriptName::bucket, text, {"100000000", "2000000000", "3", "1", "4"}));
        EXPECT_EQ(
            writer.draw("k", {1, max_fill, -max_fill, 0, 0}, text),
            call(ScriptName::bucket, text, {"1", "946728000000000000", "-946728000000000000", "0", "0"}));
        EXPECT_EQ(writer.change_overrides("k", {"7", "8", "text"}, text),
                  call(ScriptName::overrides, text, {"7", "8", "text"}));
    }
    EXPECT_EQ(writer.charge({"k", 1, 2, 3}, 3), call(ScriptName::charge, false, {"3", "1", "2", "3"}));
    EXPECT_EQ(writer.encoded().words, words_of_charge);
}

TEST(Command, TellsScriptsTheTimeThatTheyMayNotAskFor) {
    CommandWriter writer;
    writer.tell_time(1'700'000'000'000'042);
    EXPECT_EQ(writer.draw("k", {1, 2, 3, 4, 5}),
              call(ScriptName::bucket, false, {"1", "2", "3", "4", "5", "", "", "", "1700000000", "42"}));
    EXPECT_EQ(writer.draw("k", {1, 2, -3, 4, 5, {0xfedc'ba98'7654'3210, 7'000}}),
              call(ScriptName::bucket, false,
                   {"1", "2", "-3", "4", "5", "4275878552", "1985229328", "7", "1700000000", "42"}));
    EXPECT_EQ(writer.hold("k", {"me", 1, 2, 3, 4, 5}),
              call(ScriptName::hold, false, {"me", "1", "2", "3", "4", "5", "1700000000", "42"}));
    writer.tell_time(0);
    EXPECT_EQ(writer.hold("k", {"me", 1, 2, 3, 4, 5}),
              call(ScriptName::hold, false, {"me", "1", "2", "3", "4", "5"}));
    EXPECT_EQ(writer.draw("k", {1, 2, -3, 4, 5, {0xfedc'ba98'7654'3210, 7'000}}),
              call(ScriptName::bucket, false, {"1", "2", "-3", "4", "5", "4275878552", "1985229328", "7"}));
    EXPECT_EQ(
        writer.draw("k", {1, 2, -3, 4, 5, {0xfedc'ba98'7654'3210, 7'000, true}}),
        call(ScriptName::bucket, false, {"1", "2", "-3", "4", "5", "4275878552", "1985229328", "last"}));
}

TEST(Command, MovesABucketOn) {
    CommandWriter writer;
    EXPECT_EQ(writer.take("a key", 1'700'000'000'123'456'789, 5),
              resp({"BITFIELD", "a key", "OVERFLOW", "SAT", "INCRBY", "u63", "1", "-1700000000123456789",
                    "INCRBY", "i64", "0", "1700000000123456794"}));
    EXPECT_EQ(writer.take_of_filling("a key", 5), resp({"BITFIELD", "a key", "INCRBY", "i64", "0", "5"}));
}

TEST(Command, ReusesItsBuffer) {
    CommandWriter writer;
    const char* buffer = writer.check("a key that is long enough to leave the string's own room").data();
    EXPECT_EQ(writer.ping().data(), buffer);
    EXPECT_EQ(writer.check("another").data(), buffer);
}

}  // namespace
}  // namespace rate_limit::command_test
