#include "redis/common_reply.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "raw_reply.h"

namespace rate_limit::common_reply_test {
namespace {

/// A reader that has bytes in its buffer but has not read any of them yet.
struct Unread : RawReply {
    explicit Unread(std::string_view bytes) { keep(bytes); }
};

constexpr std::string_view common[] = {
    ":0\r\n",
    ":7\r\n",
    ":42\r\n",
    ":999999999999999999\r\n",
    "*2\r\n$1\r\n0\r\n$1\r\n0\r\n",
    "*2\r\n$2\r\n42\r\n$13\r\n1700000000000\r\n",
    "*2\r\n$18\r\n999999999999999999\r\n$18\r\n100000000000000000\r\n",
    "*2\r\n$-1\r\n$-1\r\n",
    "*2\r\n$1\r\n1\r\n$-1\r\n",
    "*2\r\n$-1\r\n$1\r\n1\r\n",
    "*2\r\n:1\r\n:1700000000000\r\n",
    "*2\r\n:1\r\n$1\r\n1\r\n",
    ":-1\r\n",
    ":1000000000000000000\r\n",
    ":9223372036854775807\r\n",
    ":-9223372036854775807\r\n",
    "*2\r\n:0\r\n:-7437372036854775808\r\n",
    "*1\r\n:-5\r\n",
    "*1\r\n$-1\r\n",
    "*3\r\n:1\r\n:2\r\n:3\r\n",
    "*7\r\n:1\r\n:2\r\n$1\r\n3\r\n$-1\r\n:5\r\n:-6\r\n:7\r\n",
    "*8\r\n:1\r\n:2\r\n$1\r\n3\r\n$-1\r\n:5\r\n:-6\r\n:7\r\n:1\r\n",
};

TEST(CommonReply, IsReadAsHiredisReadsIt) {
    for (const std::string_view bytes : common) {
        Unread unread(bytes);
        ASSERT_TRUE(unread.read_common()) << bytes;
        EXPECT_EQ(unread.left(), 0U) << bytes;
        const RawReply read(bytes);
        ASSERT_TRUE(read.complete()) << bytes;
        EXPECT_EQ(text_of(*unread), text_of(*read));
    }
}

TEST(CommonReply, APartOfOneIsLeftUntilTheRestComes) {
    for (const std::string_view bytes : common) {
        for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
            Unread unread(bytes.substr(0, cut));
            ASSERT_FALSE(unread.read_common()) << bytes << cut;
            ASSERT_EQ(unread.left(), cut) << bytes;
            unread.keep(bytes.substr(cut));
            ASSERT_TRUE(unread.read_common()) << bytes << cut;
            ASSERT_EQ(unread.left(), 0U) << bytes << cut;
        }
    }
}

TEST(CommonReply, AnyOtherIsLeftToHiredis) {
    const std::string_view others[] = {
        "+OK\r\n",
        "-ERR no\r\n",
        "$1\r\n5\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*9\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n",
        "*10\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n:10\r\n",
        "*1\r\n*1\r\n:5\r\n",
        "*3\r\n:1\r\n:2\r\n+3\r\n",
        ":-9223372036854775808\r\n",
        "*2\r\n*0\r\n:2\r\n",
        "*2\r\n+5\r\n:1\r\n",
        "*2\r\n-ERR\r\n:1\r\n",
        "*2\r\n:1\r\n+5\r\n",
        "*2\r\n$2\r\n-1\r\n:1\r\n",
        "*2\r\n$2\r\n07\r\n:1\r\n",
        "*2\r\n$0\r\n\r\n:1\r\n",
        "*2\r\n$1\r\nx\r\n:1\r\n",
        "*2\r\n$3\r\n7.0\r\n:1\r\n",
        "*2\r\n$19\r\n1000000000000000000\r\n:1\r\n",
        "*2\r\n$4\r\n1\r\n2\r\n:1\r\n",
    };
    for (const std::string_view bytes : others) {
        Unread unread(bytes);
        EXPECT_FALSE(unread.read_common()) << bytes;
        EXPECT_EQ(unread.left(), bytes.size()) << bytes;
        ASSERT_TRUE(unread.read()) << bytes;
        EXPECT_EQ(text_of(*unread), text_of(*RawReply(bytes))) << bytes;
    }
}

TEST(CommonReply, GarbageIsLeftToHiredis) {
    for (const std::string_view bytes : {":\r\n",
                                         ":-\r\n",
                                         ":-0\r\n",
                                         ":-01\r\n",
                                         ":--1\r\n",
                                         ":9223372036854775808\r\n",
                                         ":-9223372036854775809\r\n",
                                         ":12345678901234567890\r\n",
                                         "*/\r\n",
                                         "*:\r\n",
                                         "*-\r\n",
                                         "*\r\n",
                                         "*1",
                                         ":x\r\n",
                                         ":01\r\n",
                                         ":1x\r\n",
                                         "*2\r\n$01\r\n1\r\n:1\r\n",
                                         "*2\r\n$2\r\n1\r\n:1\r\n",
                                         "*2\r\n$1\r\n12\r\n:1\r\n",
                                         "*2\r\n$1\r\n1xy:1\r\n",
                                         "*2\r\n?\r\n:1\r\n",
                                         "*2x\r\n",
                                         "\r\n"}) {
        Unread unread(bytes);
        EXPECT_FALSE(unread.read_common()) << bytes;
        EXPECT_EQ(unread.left(), bytes.size()) << bytes;
    }
}

TEST(CommonReply, NothingOfTheOneBeforeIsLeft) {
    const std::string_view befores[] = {"-ERR no\r\n", "*4\r\n:5\r\n:6\r\n:7\r\n:8\r\n", "*2\r\n*0\r\n:2\r\n",
                                        ":5\r\n"};
    for (const std::string_view before : befores) {
        for (const std::string_view bytes : common) {
            Unread unread(std::string(before) + std::string(bytes));
            ASSERT_TRUE(unread.read());
            ASSERT_TRUE(unread.read_common()) << before << bytes;
            EXPECT_EQ(text_of(*unread), text_of(*RawReply(bytes))) << before;
        }
    }
}

TEST(CommonReply, HiredisGoesOnAfterIt) {
    std::string bytes;
    for (int i = 0; i < 1000; ++i) {
        bytes += "*2\r\n$1\r\n7\r\n$13\r\n1700000000000\r\n:8\r\n+OK\r\n";
    }
    Unread unread(bytes);
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(unread.read_common()) << i;
        ASSERT_EQ(unread->values[1].integer, 1'700'000'000'000) << i;
        ASSERT_TRUE(unread.read_common()) << i;
        ASSERT_EQ(unread->values[0].integer, 8) << i;
        ASSERT_FALSE(unread.read_common()) << i;
        ASSERT_TRUE(unread.read()) << i;
        ASSERT_EQ(unread->text_view(), "OK") << i;
    }
    EXPECT_EQ(unread.left(), 0U);
}

}  // namespace
}  // namespace rate_limit::common_reply_test
