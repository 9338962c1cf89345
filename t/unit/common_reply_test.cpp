#include "redis/common_reply.h"

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "raw_reply.h"

namespace rate_limit {
namespace {

using Kind = ReplyValue::Kind;

/// A reader that has bytes in its buffer but has not read any of them yet.
class Unread {
public:
    explicit Unread(std::string_view bytes)
        : reader_(redisReaderCreateWithFunctions(&reply_functions), redisReaderFree) {
        reader_->privdata = &reply_;
        feed(bytes);
    }

    void feed(std::string_view bytes) { redisReaderFeed(reader_.get(), bytes.data(), bytes.size()); }

    bool read_common() { return rate_limit::read_common(*reader_, reply_); }

    bool read_with_hiredis() {
        void* object = nullptr;
        return redisReaderGetReply(reader_.get(), &object) == REDIS_OK && object == &reply_;
    }

    /// How many bytes have not been read yet.
    std::size_t left() const { return reader_->len - reader_->pos; }

    const Reply& operator*() const { return reply_; }
    const Reply* operator->() const { return &reply_; }

private:
    Reply reply_;
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
};

void expect_same(const Reply& one, const Reply& other) {
    EXPECT_EQ(one.head.type, other.head.type);
    EXPECT_EQ(one.head.integer, other.head.integer);
    EXPECT_EQ(one.head.elements, other.head.elements);
    EXPECT_EQ(one.head.len, other.head.len);
    EXPECT_STREQ(one.head.str, other.head.str);
    EXPECT_EQ(one.malformed, other.malformed);
    EXPECT_EQ(one.stray, other.stray);
    EXPECT_EQ(one.text_view(), other.text_view());
    ASSERT_EQ(one.count, other.count);
    for (std::size_t i = 0; i < Reply::max_elements; ++i) {
        EXPECT_EQ(one.values[i].kind, other.values[i].kind) << i;
        EXPECT_EQ(one.values[i].integer, other.values[i].integer) << i;
    }
}

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
};

TEST(CommonReply, IsReadAsHiredisReadsIt) {
    for (const std::string_view bytes : common) {
        Unread unread(bytes);
        ASSERT_TRUE(unread.read_common()) << bytes;
        EXPECT_EQ(unread.left(), 0U) << bytes;
        const RawReply read(bytes);
        ASSERT_TRUE(read.complete()) << bytes;
        expect_same(*unread, *read);
    }
}

TEST(CommonReply, APartOfOneIsLeftUntilTheRestComes) {
    for (const std::string_view bytes : common) {
        for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
            Unread unread(bytes.substr(0, cut));
            ASSERT_FALSE(unread.read_common()) << bytes << cut;
            ASSERT_EQ(unread.left(), cut) << bytes;
            unread.feed(bytes.substr(cut));
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
        "*1\r\n:5\r\n",
        "*3\r\n:1\r\n:2\r\n:3\r\n",
        "*2\r\n*0\r\n:2\r\n",
        "*2\r\n+5\r\n:1\r\n",
        "*2\r\n-ERR\r\n:1\r\n",
        "*2\r\n:1\r\n+5\r\n",
        ":-1\r\n",
        ":1000000000000000000\r\n",
        "*2\r\n:-1\r\n:1\r\n",
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
        ASSERT_TRUE(unread.read_with_hiredis()) << bytes;
        expect_same(*unread, *RawReply(bytes));
    }
}

TEST(CommonReply, GarbageIsLeftToHiredis) {
    for (const std::string_view bytes :
         {":\r\n", ":x\r\n", ":01\r\n", ":1x\r\n", "*2\r\n$01\r\n1\r\n:1\r\n", "*2\r\n$2\r\n1\r\n:1\r\n",
          "*2\r\n$1\r\n12\r\n:1\r\n", "*2\r\n$1\r\n1xy:1\r\n", "*2\r\n?\r\n:1\r\n", "*2x\r\n", "\r\n"}) {
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
            ASSERT_TRUE(unread.read_with_hiredis());
            ASSERT_TRUE(unread.read_common()) << before << bytes;
            expect_same(*unread, *RawReply(bytes));
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
        ASSERT_TRUE(unread.read_with_hiredis()) << i;
        ASSERT_EQ(unread->text_view(), "OK") << i;
    }
    EXPECT_EQ(unread.left(), 0U);
}

}  // namespace
}  // namespace rate_limit
