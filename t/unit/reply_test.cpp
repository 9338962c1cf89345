#include "redis/reply.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "raw_reply.h"

namespace rate_limit {
namespace {

using Kind = ReplyValue::Kind;

void expect_value(const ReplyValue& value, Kind kind, std::int64_t integer) {
    EXPECT_EQ(value.kind, kind);
    EXPECT_EQ(value.integer, integer);
}

std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

TEST(Reply, ReadsAnArrayOfBulkStringsAndIntegers) {
    const RawReply reply("*3\r\n$2\r\n42\r\n:1700000000000\r\n$-1\r\n");
    ASSERT_TRUE(reply.complete());
    EXPECT_TRUE(reply->is_array());
    EXPECT_FALSE(reply->malformed);
    EXPECT_EQ(reply->count, 3U);
    EXPECT_EQ(reply->head.elements, 0U);
    expect_value(reply->values[0], Kind::integer, 42);
    expect_value(reply->values[1], Kind::integer, 1'700'000'000'000);
    expect_value(reply->values[2], Kind::nil, 0);
}

TEST(Reply, ReadsScalars) {
    const RawReply integer(":-7\r\n");
    EXPECT_EQ(integer->head.type, REDIS_REPLY_INTEGER);
    EXPECT_EQ(integer->count, 1U);
    expect_value(integer->values[0], Kind::integer, -7);

    const RawReply status("+PONG\r\n");
    EXPECT_EQ(status->head.type, REDIS_REPLY_STATUS);
    EXPECT_EQ(status->text_view(), "PONG");

    const RawReply string(bulk("two\r\nlines"));
    EXPECT_EQ(string->head.type, REDIS_REPLY_STRING);
    EXPECT_EQ(string->text_view(), "two\r\nlines");
    expect_value(string->values[0], Kind::other, 0);
}

TEST(Reply, NumbersAreReadAsRedisReadsThem) {
    for (const char* text : {"0", "7", "-7", "9223372036854775807", "-9223372036854775808"}) {
        const RawReply reply("*1\r\n" + bulk(text));
        expect_value(reply->values[0], Kind::integer, std::stoll(text));
    }
    for (const char* text : {"", "-", "-0", "+7", "007", "-07", "7 ", " 7", "7.0", "1e3", "0x7", "nan", "--7",
                             "9223372036854775808", "-9223372036854775809", "99999999999999999999999"}) {
        const RawReply reply("*1\r\n" + bulk(text));
        ASSERT_TRUE(reply.complete());
        EXPECT_FALSE(reply->malformed);
        expect_value(reply->values[0], Kind::other, 0);
    }
}

TEST(Reply, NilAndEmptyArrays) {
    for (const char* bytes : {"$-1\r\n", "*-1\r\n", "_\r\n"}) {
        const RawReply nil(bytes);
        ASSERT_TRUE(nil.complete()) << bytes;
        EXPECT_EQ(nil->head.type, REDIS_REPLY_NIL);
        EXPECT_EQ(nil->count, 1U);
        expect_value(nil->values[0], Kind::nil, 0);
    }
    const RawReply empty("*0\r\n");
    ASSERT_TRUE(empty.complete());
    EXPECT_TRUE(empty->is_array());
    EXPECT_FALSE(empty->malformed);
    EXPECT_EQ(empty->count, 0U);
}

TEST(Reply, AnErrorKeepsItsText) {
    const RawReply reply("-NOSCRIPT No matching script.\r\n");
    ASSERT_TRUE(reply.complete());
    EXPECT_TRUE(reply->is_error());
    EXPECT_EQ(reply->text_view(), "NOSCRIPT No matching script.");
    EXPECT_STREQ(reply->head.str, "NOSCRIPT No matching script.");
    EXPECT_EQ(reply->head.len, reply->text_length);
}

TEST(Reply, LongTextIsCut) {
    const std::string longest(Reply::max_text - 1, 'x');
    EXPECT_EQ(RawReply(bulk(longest))->text_view(), longest);
    const RawReply longer("-" + longest + "yz\r\n");
    EXPECT_EQ(longer->text_view(), longest);
    EXPECT_STREQ(longer->head.str, longest.c_str());
}

TEST(Reply, AnArrayThatItCannotHoldIsMalformedAndReadToItsEnd) {
    const char* replies[] = {
        "*2\r\n:1\r\n*1\r\n:2\r\n",              // nested
        "*2\r\n*0\r\n:2\r\n",                    // nested and empty
        "*1\r\n*1\r\n*2\r\n:1\r\n:2\r\n",        // deeper
        "*2\r\n-ERR inside\r\n:1\r\n",           // an error as element
        "*5\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n",  // too many
        "%1\r\n$1\r\na\r\n:1\r\n",
        "~2\r\n:1\r\n:2\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n",
        ",1.5\r\n",
        "#t\r\n",
        "=5\r\ntxt:x\r\n",
        "(123456789012345678901234567890\r\n",
        "*2\r\n,1.5\r\n#f\r\n",
        "*2\r\n=5\r\ntxt:x\r\n(1\r\n",
        "*1\r\n%1\r\n:1\r\n:2\r\n",
    };
    RawReply reply;
    for (const char* bytes : replies) {
        ASSERT_TRUE(reply.feed(bytes)) << bytes;
        EXPECT_TRUE(reply->malformed) << bytes;
        EXPECT_FALSE(reply->is_error()) << bytes;
        EXPECT_EQ(reply->head.elements, 0U) << bytes;
        EXPECT_LE(reply->count, Reply::max_elements) << bytes;
        ASSERT_TRUE(reply.feed("*1\r\n:5\r\n")) << bytes;
        EXPECT_FALSE(reply->malformed) << bytes;
        expect_value(reply->values[0], Kind::integer, 5);
        expect_value(reply->values[1], Kind::other, 0);
    }
}

TEST(Reply, ElementsBeyondTheLastAreDropped) {
    const RawReply reply("*6\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n");
    expect_value(reply->values[3], Kind::integer, 4);
    // The text comes after the values in memory: a value too many would overwrite it.
    EXPECT_EQ(std::string_view(reply->text.data(), 64), std::string(64, '\0'));
}

TEST(Reply, AStatusInAnArrayIsOnlyNoNumber) {
    const RawReply reply("*2\r\n+5\r\n:1\r\n");
    EXPECT_FALSE(reply->malformed);
    EXPECT_EQ(reply->text_view(), "");
    expect_value(reply->values[0], Kind::other, 0);
    expect_value(reply->values[1], Kind::integer, 1);
}

TEST(Reply, MayBeCutAnywhere) {
    const std::string_view bytes = "*2\r\n$3\r\n123\r\n$13\r\n1700000000000\r\n";
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        RawReply reply;
        EXPECT_FALSE(reply.feed(bytes.substr(0, cut))) << cut;
        ASSERT_TRUE(reply.feed(bytes.substr(cut))) << cut;
        expect_value(reply->values[0], Kind::integer, 123);
        expect_value(reply->values[1], Kind::integer, 1'700'000'000'000);
    }
    RawReply reply;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_EQ(reply.feed(bytes.substr(i, 1)), i + 1 == bytes.size()) << i;
    }
    expect_value(reply->values[1], Kind::integer, 1'700'000'000'000);
}

TEST(Reply, GarbageIsRefused) {
    for (const char* bytes :
         {"HTTP/1.1 400 Bad Request\r\n", "\r\n", "$99999999999999999999\r\n", "$-2\r\n", "*-2\r\n",
          "*9999999999999999999\r\n", ":abc\r\n", "*1\r\n:99999999999999999999\r\n", "*2\r\n:1\r\n?\r\n",
          "#x\r\n", "=1\r\nx\r\n"}) {
        const RawReply reply(bytes);
        EXPECT_FALSE(reply.complete()) << bytes;
        EXPECT_TRUE(reply.refused()) << bytes;
    }
}

TEST(Reply, AHugeBulkLengthOnlyWaits) {
    const RawReply reply("*2\r\n$536870912\r\nx");
    EXPECT_FALSE(reply.complete());
    EXPECT_FALSE(reply.refused());
}

/// A hiredis connection over a socket pair, with a Reply in use.
class AsyncReply : public testing::Test {
protected:
    void SetUp() override {
        int sockets[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
        peer_ = sockets[1];
        redisOptions options{};
        options.type = REDIS_CONN_USERFD;
        options.endpoint.fd = sockets[0];
        context_ = redisAsyncConnectWithOptions(&options);
        ASSERT_NE(context_, nullptr);
        // Otherwise hiredis would wait for connect() to finish.
        context_->c.flags |= REDIS_CONNECTED;
        context_->data = this;
        redisAsyncSetDisconnectCallback(context_, on_disconnect);
        use_reply(context_, reply_);
    }

    void TearDown() override {
        if (context_ != nullptr) {
            redisAsyncFree(context_);
        }
        close(peer_);
    }

    void send_command() {
        constexpr std::string_view ping = "*1\r\n$4\r\nPING\r\n";
        ASSERT_EQ(redisAsyncFormattedCommand(context_, on_reply, this, ping.data(), ping.size()), REDIS_OK);
    }

    void receive(std::string_view bytes) {
        ASSERT_EQ(write(peer_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
        redisAsyncHandleRead(context_);
    }

    struct Seen {
        int type;
        std::int64_t integer;
        std::string text;
    };

    Reply reply_;
    redisAsyncContext* context_ = nullptr;
    std::vector<Seen> seen_;  // type 0: the connection ended without an answer
    std::string disconnect_;

private:
    static void on_reply(redisAsyncContext*, void* object, void* privdata) {
        auto& test = *static_cast<AsyncReply*>(privdata);
        if (object == nullptr) {
            test.seen_.push_back({0, 0, ""});
            return;
        }
        EXPECT_EQ(object, &test.reply_);
        test.seen_.push_back(
            {test.reply_.head.type, test.reply_.values[0].integer, std::string(test.reply_.text_view())});
    }

    static void on_disconnect(const redisAsyncContext* context, int) {
        auto& test = *static_cast<AsyncReply*>(context->data);
        test.disconnect_ = context->errstr;
        test.context_ = nullptr;
    }

    int peer_ = -1;
};

TEST_F(AsyncReply, PipelinedRepliesComeInOrder) {
    send_command();
    send_command();
    send_command();
    receive("*2\r\n$1\r\n5\r\n$1\r\n6\r\n:7\r\n-ERR no");
    ASSERT_EQ(seen_.size(), 2U);
    receive(" luck\r\n");
    ASSERT_EQ(seen_.size(), 3U);
    EXPECT_EQ(seen_[0].integer, 5);
    EXPECT_EQ(seen_[1].integer, 7);
    EXPECT_EQ(seen_[2].type, REDIS_REPLY_ERROR);
    EXPECT_EQ(seen_[2].text, "ERR no luck");
    EXPECT_NE(context_, nullptr);
    EXPECT_FALSE(reply_.stray);
}

TEST_F(AsyncReply, AReplyThatNobodyWaitsForEndsTheConnection) {
    for (const char* bytes : {":1\r\n", "+OK\r\n", "$-1\r\n", "*0\r\n", "*-1\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n",
                              "#t\r\n", ",1.5\r\n", "%1\r\n:1\r\n:2\r\n", ">1\r\n$7\r\nmessage\r\n"}) {
        receive(bytes);
        EXPECT_EQ(context_, nullptr) << bytes;
        EXPECT_EQ(disconnect_, "a reply that no command waits for") << bytes;
        TearDown();
        SetUp();
    }
}

TEST_F(AsyncReply, AnErrorThatNobodyWaitsForKeepsItsText) {
    receive("-ERR max number of clients reached\r\n");
    EXPECT_EQ(context_, nullptr);
    EXPECT_EQ(disconnect_, "ERR max number of clients reached");
}

TEST_F(AsyncReply, AStrayReplyBeforeACommandMakesAllLaterOnesErrors) {
    receive("*2\r\n:1\r\n");
    send_command();
    send_command();
    receive(":2\r\n:3\r\n");
    ASSERT_EQ(seen_.size(), 2U);
    EXPECT_EQ(seen_[0].type, REDIS_REPLY_ERROR);
    EXPECT_EQ(seen_[1].type, REDIS_REPLY_ERROR);
    EXPECT_TRUE(reply_.stray);
    ASSERT_NE(context_, nullptr);
    receive(":4\r\n");
    EXPECT_EQ(context_, nullptr);
}

TEST_F(AsyncReply, APushTakesNoCommandsPlace) {
    send_command();
    receive(">3\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n:1\r\n:7\r\n");
    ASSERT_EQ(seen_.size(), 1U);
    EXPECT_EQ(seen_[0].type, REDIS_REPLY_INTEGER);
    EXPECT_EQ(seen_[0].integer, 7);
}

TEST_F(AsyncReply, GarbageEndsTheConnection) {
    send_command();
    receive("HTTP/1.1 400 Bad Request\r\n");
    EXPECT_EQ(context_, nullptr);
    ASSERT_EQ(seen_.size(), 1U);
    EXPECT_EQ(seen_[0].type, 0);
}

TEST_F(AsyncReply, ANewConnectionForgetsTheStrayReply) {
    receive(":1\r\n");
    EXPECT_TRUE(reply_.stray);
    TearDown();
    SetUp();
    EXPECT_FALSE(reply_.stray);
    send_command();
    receive(":5\r\n");
    ASSERT_EQ(seen_.size(), 1U);
    EXPECT_EQ(seen_[0].integer, 5);
}

}  // namespace
}  // namespace rate_limit
