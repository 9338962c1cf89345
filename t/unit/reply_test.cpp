#include "redis/reply.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "raw_reply.h"

namespace rate_limit::reply_test {
namespace {

std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

TEST(Reply, ReadsScalarsAndFlatArrays) {
    const std::pair<std::string, const char*> replies[] = {
        {"*3\r\n$2\r\n42\r\n:1700000000000\r\n$-1\r\n", "array [42, 1700000000000, nil]"},
        {"*2\r\n+5\r\n:1\r\n", "array [other, 1]"},  // a status in an array is only no number
        {"*0\r\n", "array []"},
        {":-7\r\n", "integer -7 [-7]"},
        {"+PONG\r\n", "status \"PONG\" [other]"},
        {bulk("two\r\nlines"), "string \"two\r\nlines\" [other]"},
        {"-NOSCRIPT No matching script.\r\n", "error \"NOSCRIPT No matching script.\" [other]"},
        {"$-1\r\n", "nil [nil]"},
        {"*-1\r\n", "nil [nil]"},
        {"_\r\n", "nil [nil]"},
    };
    for (const auto& [bytes, text] : replies) {
        const RawReply reply(bytes);
        EXPECT_TRUE(reply.complete()) << bytes;
        EXPECT_EQ(text_of(*reply), text) << bytes;
    }
}

TEST(Reply, NumbersAreReadAsRedisReadsThem) {
    for (const char* text : {"0", "7", "-7", "9223372036854775807", "-9223372036854775808"}) {
        EXPECT_EQ(text_of(*RawReply("*1\r\n" + bulk(text))), "array [" + std::string(text) + "]");
    }
    for (const char* text : {"", "-", "-0", "+7", "007", "-07", "7 ", " 7", "7.0", "1e3", "0x7", "nan", "--7",
                             "9223372036854775808", "-9223372036854775809", "99999999999999999999999"}) {
        EXPECT_EQ(text_of(*RawReply("*1\r\n" + bulk(text))), "array [other]") << text;
    }
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
        "*2\r\n:1\r\n*1\r\n:2\r\n",                                      // nested
        "*2\r\n*0\r\n:2\r\n",                                            // nested and empty
        "*1\r\n*1\r\n*2\r\n:1\r\n:2\r\n",                                // deeper
        "*2\r\n-ERR inside\r\n:1\r\n",                                   // an error as element
        "*9\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n",  // too many
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
        EXPECT_EQ(text_of(*reply), "array [5]") << bytes;
    }
}

TEST(Reply, ElementsBeyondTheLastAreDropped) {
    const RawReply reply("*9\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n");
    EXPECT_EQ(text_of(*reply), "malformed array [1, 2, 3, 4, 5, 6, 7, 8]");
    // The text comes after the values in memory: a value too many would overwrite it.
    EXPECT_EQ(std::string_view(reply->text.data(), 64), std::string(64, '\0'));
}

TEST(Reply, MayBeCutAnywhere) {
    const std::string_view bytes = "*2\r\n$3\r\n123\r\n$13\r\n1700000000000\r\n";
    const std::string whole = "array [123, 1700000000000]";
    RawReply bytewise;
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        RawReply reply;
        EXPECT_FALSE(reply.feed(bytes.substr(0, cut))) << cut;
        EXPECT_TRUE(reply.feed(bytes.substr(cut))) << cut;
        EXPECT_EQ(text_of(*reply), whole) << cut;
        EXPECT_FALSE(bytewise.feed(bytes.substr(cut - 1, 1))) << cut;
    }
    EXPECT_TRUE(bytewise.feed(bytes.substr(bytes.size() - 1)));
    EXPECT_EQ(text_of(*bytewise), whole);
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

    Reply reply_;
    redisAsyncContext* context_ = nullptr;
    using Seen = std::vector<std::string>;
    Seen seen_;
    std::string disconnect_;

private:
    static void on_reply(redisAsyncContext*, void* object, void* privdata) {
        auto& test = *static_cast<AsyncReply*>(privdata);
        EXPECT_TRUE(object == nullptr || object == &test.reply_);
        test.seen_.push_back(object == nullptr ? "no answer" : text_of(test.reply_));
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
    EXPECT_EQ(seen_, (Seen{"array [5, 6]", "integer 7 [7]"}));
    receive(" luck\r\n");
    EXPECT_EQ(seen_, (Seen{"array [5, 6]", "integer 7 [7]", "error \"ERR no luck\" [other]"}));
    EXPECT_NE(context_, nullptr);
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

TEST_F(AsyncReply, ATreeTakesInNoReplyThatNobodyWaitsFor) {
    for (const char* bytes : {":1\r\n", "*2\r\n:1\r\n*1\r\n$1\r\nx\r\n", "-ERR x\r\n", "$-1\r\n"}) {
        TreeReply tree;
        reply_.tree = &tree;
        send_command();
        receive("*1\r\n*1\r\n:5\r\n");
        EXPECT_TRUE(tree.is_whole());
        receive(bytes);
        EXPECT_EQ(context_, nullptr) << bytes;
        EXPECT_FALSE(tree.is_whole()) << bytes;
        EXPECT_FALSE(tree.is_malformed()) << bytes;
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
    for (const std::string& seen : seen_) {
        EXPECT_EQ(seen.substr(0, 11), "stray error");
    }
    ASSERT_NE(context_, nullptr);
    receive(":4\r\n");
    EXPECT_EQ(context_, nullptr);
}

TEST_F(AsyncReply, APushTakesNoCommandsPlace) {
    send_command();
    receive(">3\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n:1\r\n:7\r\n");
    EXPECT_EQ(seen_, Seen{"integer 7 [7]"});
}

TEST_F(AsyncReply, GarbageEndsTheConnection) {
    send_command();
    receive("HTTP/1.1 400 Bad Request\r\n");
    EXPECT_EQ(context_, nullptr);
    EXPECT_EQ(seen_, Seen{"no answer"});
}

TEST_F(AsyncReply, ANewConnectionForgetsTheStrayReply) {
    receive(":1\r\n");
    EXPECT_TRUE(reply_.stray);
    TearDown();
    SetUp();
    EXPECT_FALSE(reply_.stray);
    send_command();
    receive(":5\r\n");
    EXPECT_EQ(seen_, Seen{"integer 5 [5]"});
}

}  // namespace
}  // namespace rate_limit::reply_test
