// The buffer of a reader, in which bytes wait for the end of a text or of a line.

#include "redis/unread.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "raw_reply.h"
#include "raw_tree.h"

namespace rate_limit::unread_test {
namespace {

constexpr std::size_t kilobyte = 1024;
constexpr std::size_t megabyte = kilobyte * kilobyte;
constexpr std::size_t a_read = 16 * kilobyte;

std::string large(std::size_t size) {
    return "$" + std::to_string(size) + "\r\n" + std::string(size, '1') + "\r\n";
}

/// Feeds the bytes as they come from a socket, and bounds what is unread. Ends at the first reason.
class Fed : public RawReply {
public:
    explicit Fed(std::string_view bytes, TreeReply* tree = nullptr, std::size_t piece = a_read) {
        if (tree != nullptr) {
            use(*tree);
        }
        for (; !bytes.empty() && reason == nullptr; bytes.remove_prefix(std::min(piece, bytes.size()))) {
            replies += feed(bytes.substr(0, piece)) ? 1 : 0;
            reason = bound();
            most = std::max(most, left());
        }
    }

    std::string_view why() const { return reason == nullptr ? "" : reason; }

    const char* reason = nullptr;
    std::size_t replies = 0;
    std::size_t most = 0;  // bytes that were unread
};

TEST(Unread, IsPassedOverWithinAnArray) {
    for (const std::size_t size : {megabyte - 1, megabyte, megabyte + 1, megabyte + a_read, 2 * megabyte,
                                   10 * megabyte - 1, 10 * megabyte}) {
        for (const std::size_t piece : {a_read, a_read - 1, 3 * megabyte}) {
            SCOPED_TRACE(std::to_string(size) + " in pieces of " + std::to_string(piece));
            const Fed first("*3\r\n" + large(size) + "$1\r\n7\r\n:8\r\n", nullptr, piece);
            EXPECT_EQ(first.why(), "");
            EXPECT_EQ(first.replies, 1U);
            EXPECT_EQ(text_of(*first), "array [other, 7, 8]");
            EXPECT_EQ(first.left(), 0U);
            EXPECT_LE(first.most, megabyte + 100);
            const Fed last("*2\r\n$1\r\n7\r\n" + large(size), nullptr, piece);
            EXPECT_EQ(text_of(*last), "array [7, other]");
            EXPECT_EQ(last.replies, 1U);
        }
    }
}

TEST(Unread, IsNoNumberWhereverTheTextIsCut) {
    const std::string whole = "*1\r\n" + large(2 * megabyte);
    for (std::size_t last = 1; last < 40; ++last) {
        RawReply reply;
        EXPECT_FALSE(reply.feed(std::string_view(whole).substr(0, whole.size() - last)));
        EXPECT_EQ(reply.bound(), nullptr);
        ASSERT_TRUE(reply.feed(std::string_view(whole).substr(whole.size() - last))) << last;
        EXPECT_EQ(text_of(*reply), "array [other]");
        EXPECT_EQ(reply.left(), 0U);
    }
}

TEST(Unread, MakesATreeMalformed) {
    TreeReply tree;
    const Fed held("*2\r\n:1\r\n" + large(15 * megabyte), &tree);
    EXPECT_EQ(held.why(), "");
    EXPECT_TRUE(tree.is_whole());
    const Fed passed("*3\r\n:1\r\n" + large(18 * megabyte) + ":2\r\n", &tree);
    EXPECT_EQ(passed.why(), "");
    EXPECT_EQ(passed.replies, 1U);
    EXPECT_EQ(passed.left(), 0U);
    EXPECT_TRUE(tree.is_malformed());
}

TEST(Unread, IsAReasonToEndAboveWhatRedisStores) {
    const std::string text(2 * megabyte, '1');
    EXPECT_EQ(Fed("*1\r\n$536870912\r\n" + text).why(), "");
    EXPECT_EQ(Fed("*1\r\n$536870913\r\n" + text).why(), "its answer has a text above 1 MB");
    EXPECT_EQ(Fed("*1\r\n$999999999999999999\r\n" + text).why(), "its answer has a text above 1 MB");
    EXPECT_EQ(Fed(large(2 * megabyte)).why(), "its answer has a text above 1 MB") << "it is the whole reply";
    TreeReply tree;
    EXPECT_EQ(Fed(large(18 * megabyte), &tree).why(), "its answer has a text above 16 MB");
    EXPECT_EQ(Fed("*1\r\n$536870913\r\n" + std::string(17 * megabyte, '1'), &tree).why(),
              "its answer has a text above 16 MB");
}

TEST(Unread, IsAReasonToEndWhereALineHasNoEnd) {
    for (const char* begin : {"+", "-ERR ", ":", "$", "*", "*1\r\n$", "*1\r\n*"}) {
        for (const char byte : {'1', '\r', '\n'}) {
            SCOPED_TRACE(std::string(begin) + byte);
            const Fed fed(begin + std::string(megabyte, byte));
            EXPECT_EQ(fed.why(), "its answer has a line above 64 KB");
            EXPECT_LE(fed.most, 64 * kilobyte + a_read);
        }
    }
    EXPECT_EQ(Fed("+" + std::string(64 * kilobyte - 2, '1') + "\r\n").replies, 1U);
}

}  // namespace
}  // namespace rate_limit::unread_test
