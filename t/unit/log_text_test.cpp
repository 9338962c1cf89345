#include "core/text/readable.h"

#include <gtest/gtest.h>

#include "redis/server_words.h"

namespace rate_limit::log_text_test {
namespace {

TEST(LogText, KeepsPrintableText) {
    EXPECT_EQ(log_text("60r/m of 'x'", 64), "60r/m of 'x'");
    EXPECT_EQ(log_text("", 64), "");
}

TEST(LogText, EscapesWhatCouldForgeALine) {
    EXPECT_EQ(log_text("a\nb\"c\\d\x7f\xff", 64), "a\\x0ab\\x22c\\x5cd\\x7f\\xff");
    EXPECT_EQ(log_text(std::string_view("\0", 1), 64), "\\x00");
}

TEST(LogText, CutsLongText) {
    EXPECT_EQ(log_text("abcdef", 6), "abcdef");
    EXPECT_EQ(log_text("abcdefg", 6), "abcdef...");
}

TEST(ServerWords, NameTheCommand) {
    EXPECT_EQ(server_words("HMGET", "NOPERM no permissions"), "HMGET: \"NOPERM no permissions\"");
}

TEST(ServerWords, LeaveOutWhatTheServerWasSent) {
    EXPECT_EQ(
        server_words("HMGET", "ERR unknown command 'HMGET', with args beginning with: 'rl:core/3600:mona' "),
        "HMGET: \"ERR unknown command 'HMGET'\"");
    EXPECT_EQ(server_words("PING", "ERR odd with arguments rl:mona"), "PING: \"ERR odd\"");
    EXPECT_EQ(server_words("HMGET", "NOPERM access the 'rl:core/3600:mona' key"),
              "HMGET: \"NOPERM access the '\"");
    EXPECT_EQ(server_words("HMGET", "ERR core/60c#0123 is odd"), "HMGET: \"ERR \"");
    EXPECT_EQ(server_words("HMGET", "ERR see /usr/share/doc, or a/b c:d"),
              "HMGET: \"ERR see /usr/share/doc, or a/b c:d\"");
}

}  // namespace
}  // namespace rate_limit::log_text_test
