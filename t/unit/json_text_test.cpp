#include "core/text/json_text.h"

#include <gtest/gtest.h>

#include "core/text/readable.h"

namespace rate_limit::json_text_test {
namespace {

TEST(JsonText, WritesObjectsAndArrays) {
    JsonText json;
    json.begin_object();
    json.name("a").number(-1);
    json.name("b").begin_array().count(~std::uint64_t{0}).boolean(true).null().end_array();
    json.name("c").begin_object().end_object();
    json.name("d")
        .begin_array()
        .begin_object()
        .name("t")
        .time(1795406438009)
        .end_object()
        .text("x")
        .end_array();
    json.end_object();
    EXPECT_EQ(json.take(),
              R"({"a":-1,"b":[18446744073709551615,true,null],"c":{},"d":[{"t":1795406438.009},"x"]})");
}

TEST(JsonText, WritesWordsOfItsOwnAsTheyAre) {
    JsonText json;
    json.begin_array().words("a \"%\" %41%").words("").words(u8"\u00e9\n").text("%").end_array();
    EXPECT_EQ(json.take(), "[\"a \\\"%\\\" %41%\",\"\",\"\u00e9%0A\",\"%25\"]");
}

TEST(JsonText, WritesTextsThatCanBeReadAgain) {
    JsonText json;
    json.text(std::string("\"\\<\n\0\xff%é", 9));
    EXPECT_EQ(json.take(), R"("\"\\<%0A%00%FF%25é")");
}

TEST(Readable, LeavesUtf8AsItIs) {
    for (const char* text : {"", "abc", "ü", "€", "𝄞", "日本"}) {
        EXPECT_EQ(readable(text), text);
    }
}

TEST(Readable, WritesAllElseByBytes) {
    EXPECT_EQ(readable("100%"), "100%25");
    EXPECT_EQ(readable("\x7f\t"), "%7F%09");
    EXPECT_EQ(readable("\xc3"), "%C3") << "cut short";
    EXPECT_EQ(readable("\xc3("), "%C3(");
    EXPECT_EQ(readable("\xc0\x80"), "%C0%80") << "too long a form";
    EXPECT_EQ(readable("\xe0\x80\x80"), "%E0%80%80");
    EXPECT_EQ(readable("\xed\xa0\x80"), "%ED%A0%80") << "half of a pair";
    EXPECT_EQ(readable("\xf4\x90\x80\x80"), "%F4%90%80%80") << "above the last character";
    EXPECT_EQ(readable("\xf5\xff"), "%F5%FF");
    EXPECT_EQ(readable("\xc2\x85"), "%C2%85") << "a control";
    EXPECT_EQ(readable("a\xe2\x80\xae z"), "a%E2%80%AE z") << "what turns the direction of writing";
}

}  // namespace
}  // namespace rate_limit::json_text_test
