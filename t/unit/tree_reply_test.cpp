#include "redis/tree_reply.h"

#include <sys/resource.h>

#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "raw_tree.h"

namespace rate_limit::tree_reply_test {
namespace {

std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string array(std::size_t count) {
    return "*" + std::to_string(count) + "\r\n";
}

std::string nested(std::size_t depth) {
    std::string bytes;
    for (std::size_t i = 0; i < depth; ++i) {
        bytes += array(1);
    }
    return bytes;
}

TEST(TreeReply, HoldsAllOfAReply) {
    const std::pair<std::string, std::string> replies[] = {
        {":-7\r\n", "-7"},
        {"+OK\r\n", "+OK"},
        {"-MOVED 1 ::1:6379\r\n", "-MOVED 1 ::1:6379"},
        {bulk("two\r\nlines"), "\"two\r\nlines\""},
        {bulk(""), "\"\""},
        {bulk("17"), "\"17\""},
        {"$-1\r\n", "nil"},
        {"*-1\r\n", "nil"},
        {"*0\r\n", "[]"},
        {"*3\r\n:1\r\n$-1\r\n-ERR no\r\n", "[1, nil, -ERR no]"},
        {"*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n*-1\r\n", "[[1, []], [nil]]"},
        {"*3\r\n*1\r\n*1\r\n*1\r\n:1\r\n*1\r\n:2\r\n:3\r\n", "[[[[1]]], [2], 3]"},
        {"*2\r\n*0\r\n*0\r\n", "[[], []]"},
        {nested(5) + ":1\r\n", "[[[[[1]]]]]"},
        {nested(5) + "*0\r\n", "malformed"},
    };
    RawReply reply;
    TreeReply tree;
    reply.use(tree);
    for (const auto& [bytes, text] : replies) {
        EXPECT_EQ(text_of(*RawTree(bytes)), text) << bytes;
        EXPECT_TRUE(reply.feed(bytes)) << bytes;
        EXPECT_EQ(text_of(tree), text) << "after others: " << bytes;
    }
}

TEST(TreeReply, HasValuesThatAreEqualWithAllThatIsInThem) {
    const std::string replies[] = {
        ":17\r\n",
        ":18\r\n",
        bulk("17"),
        "+17\r\n",
        bulk(""),
        "$-1\r\n",
        "*0\r\n",
        array(1) + bulk("17"),
        array(1) + ":17\r\n",
        array(2) + bulk("a") + bulk("bc"),
        array(2) + bulk("ab") + bulk("c"),
        array(2) + array(1) + ":1\r\n:2\r\n",
        array(2) + ":1\r\n" + array(1) + ":2\r\n",
    };
    for (const std::string& one : replies) {
        for (const std::string& other : replies) {
            // Behind other values, and before some.
            const RawTree tree(array(4) + bulk("x") + one + other + bulk("y"));
            auto at = ++tree->root().begin();
            const TreeReply::Value first = *at;
            EXPECT_EQ(first == *++at, one == other) << one << other;
            EXPECT_EQ(first == RawTree(one)->root(), true) << one;
        }
        EXPECT_EQ(RawTree(one)->root() == TreeReply::Value(), one == "$-1\r\n") << one;
    }
}

TEST(TreeReply, HasAllTextsOfAValueInOne) {
    const RawTree tree(array(3) + bulk("x") + array(4) + bulk("") + bulk("a") + ":1\r\n" + array(2) +
                       "$-1\r\n" + bulk("bc") + bulk("y"));
    auto at = ++tree->root().begin();
    EXPECT_EQ(at->texts(), "abc");
    EXPECT_EQ((++at)->texts(), "y");
    EXPECT_EQ(tree->root().texts(), "xabcy");
    EXPECT_EQ(RawTree(array(1) + ":1\r\n")->root().texts(), "");
    EXPECT_EQ(TreeReply::Value().texts(), "");
}

TEST(TreeReply, ReadsWholeTextsThatAReplyCuts) {
    const std::string text(3 * Reply::max_text, 'x');
    EXPECT_EQ(RawTree(bulk(text))->root().text(), text);
}

#ifndef __SANITIZE_ADDRESS__
TEST(TreeReply, TellsALackOfMemoryFromWhatIsTooLarge) {
    const std::string text(4'000'000, 'x');
    const auto record = [&text] {
        const rlimit least{1, 1};
        (void)setrlimit(RLIMIT_AS, &least);
        void* volatile taken = nullptr;
        do {  // what earlier tests have given back
            taken = ::operator new(text.size() / 4, std::nothrow);
        } while (taken != nullptr);
        TreeReply tree;
        tree.add_array(2);
        tree.add_text(TreeReply::Kind::bulk, text);
        tree.add_nil();
        std::_Exit(tree.is_malformed() && tree.lacks_memory() ? 0 : 1);
    };
    EXPECT_EXIT(record(), testing::ExitedWithCode(0), "");
    const std::string most(TreeReply::max_text + 1, 'x');
    EXPECT_TRUE(RawTree(bulk(most))->is_malformed());
    EXPECT_FALSE(RawTree(bulk(most))->lacks_memory());
}
#endif

TEST(TreeReply, GivesNothingOfAnotherKind) {
    const RawTree tree("*3\r\n:7\r\n$1\r\nx\r\n*1\r\n:1\r\n");
    auto at = tree->root().begin();
    EXPECT_EQ(at->integer(), 7);
    EXPECT_EQ(at->text(), "");
    EXPECT_EQ(at->count(), 0U);
    EXPECT_TRUE(at->begin() == at->end());
    ++at;
    EXPECT_EQ(at->integer(), 0);
    EXPECT_EQ(at->text(), "x");
    EXPECT_TRUE(at->begin() == at->end());
    ++at;
    EXPECT_EQ(at->integer(), 0);
    EXPECT_EQ(at->text(), "");
    EXPECT_EQ(at->count(), 1U);
    EXPECT_TRUE(++at == tree->root().end());
    const TreeReply::Value nothing;
    EXPECT_TRUE(nothing.is_nil() && nothing.begin() == nothing.end() && nothing.text().empty());
}

TEST(TreeReply, IsNothingBeforeAReplyIsWhole) {
    const std::string bytes = "*2\r\n*2\r\n:1\r\n$2\r\nab\r\n*1\r\n*0\r\n";
    RawReply reply;
    TreeReply tree;
    reply.use(tree);
    EXPECT_EQ(text_of(tree), "nothing");
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_EQ(text_of(tree), "nothing") << i;
        EXPECT_TRUE(tree.root().is_nil());
        reply.feed(bytes.substr(i, 1));
    }
    EXPECT_EQ(text_of(tree), "[[1, \"ab\"], [[]]]");
    tree.clear();
    EXPECT_EQ(text_of(tree), "nothing");
}

TEST(TreeReply, WhatRespTwoDoesNotHaveIsMalformed) {
    for (const char* bytes :
         {"%1\r\n$1\r\na\r\n:1\r\n", "~2\r\n:1\r\n:2\r\n", ">2\r\n$1\r\na\r\n$1\r\nb\r\n", ",1.5\r\n",
          "#t\r\n", "=5\r\ntxt:x\r\n", "(123456789012345678901\r\n", "*2\r\n,1.5\r\n:1\r\n",
          "*2\r\n*1\r\n#f\r\n:1\r\n", "*1\r\n%1\r\n:1\r\n:2\r\n"}) {
        RawReply reply;
        TreeReply tree;
        reply.use(tree);
        EXPECT_TRUE(reply.feed(bytes)) << bytes;
        EXPECT_EQ(text_of(tree), "malformed") << bytes;
        EXPECT_TRUE(tree.root().is_nil());
        EXPECT_TRUE(reply.feed("*1\r\n:5\r\n"));
        EXPECT_EQ(text_of(tree), "[5]") << "after " << bytes;
    }
}

TEST(TreeReply, KeepsNothingBeyondItsBounds) {
    constexpr std::size_t most = TreeReply::max_values;
    const std::string nils = [] {
        std::string bytes;
        for (std::size_t i = 0; i < most; ++i) {
            bytes += "$-1\r\n";
        }
        return bytes;
    }();
    const std::string_view all_but_one(nils.data(), nils.size() - 5);
    EXPECT_EQ(RawTree(array(most - 1) + std::string(all_but_one))->root().count(), most - 1);
    EXPECT_TRUE(RawTree(array(most) + nils)->is_malformed());
    EXPECT_TRUE(RawTree(array(2) + array(most - 3) + nils)->is_whole());
    EXPECT_TRUE(RawTree(array(2) + array(most - 2) + nils)->is_malformed())
        << "they are one too many together";

    const std::string half = bulk(std::string(TreeReply::max_text / 2, 'x'));
    EXPECT_EQ(RawTree("*2\r\n" + half + half)->root().count(), 2U);
    EXPECT_TRUE(RawTree("*3\r\n" + half + half + bulk("x"))->is_malformed());
    EXPECT_EQ(RawTree("*3\r\n" + half + half + bulk(""))->root().count(), 3U);
}

TEST(TreeReply, AClaimedSizeTakesNoMemory) {
    RawReply reply;
    TreeReply tree;
    reply.use(tree);
    EXPECT_FALSE(reply.feed("*4294967295\r\n:1\r\n"));
    EXPECT_EQ(text_of(tree), "malformed");
    EXPECT_LE(tree.allocated(), 1024U);
}

TEST(TreeReply, ReusesItsMemoryAndGivesALargeOneBack) {
    RawReply reply;
    TreeReply tree;
    reply.use(tree);
    ASSERT_TRUE(reply.feed(bulk(std::string(TreeReply::most_kept / 2, 'x'))));
    const std::size_t kept = tree.allocated();
    ASSERT_TRUE(reply.feed(":1\r\n"));
    EXPECT_EQ(tree.allocated(), kept);
    ASSERT_TRUE(reply.feed(bulk(std::string(TreeReply::most_kept + 1, 'x'))));
    EXPECT_GT(tree.allocated(), TreeReply::most_kept);
    tree.clear();
    EXPECT_LE(tree.allocated(), 1024U);

    std::string integers = array(TreeReply::most_kept / 8);
    for (std::size_t i = 0; i < TreeReply::most_kept / 8; ++i) {
        integers += ":1\r\n";
    }
    ASSERT_TRUE(reply.feed(integers));
    EXPECT_GT(tree.allocated(), TreeReply::most_kept);
    ASSERT_TRUE(reply.feed(":1\r\n"));
    EXPECT_LE(tree.allocated(), 1024U);
}

TEST(TreeReply, IsNotBypassedByTheReaderOfCommonReplies) {
    RawReply reply;
    TreeReply tree;
    reply.use(tree);
    for (const char* bytes : {":17\r\n", "*2\r\n:1\r\n$-1\r\n"}) {
        reply.keep(bytes);
        EXPECT_FALSE(reply.read_common()) << bytes;
        EXPECT_TRUE(reply.read()) << bytes;
        EXPECT_TRUE(tree.is_whole()) << bytes;
    }
}

TEST(TreeReply, ChangesNothingOfTheReply) {
    for (const char* bytes :
         {"*2\r\n:1\r\n*1\r\n:2\r\n", "-ERR x\r\n", "*2\r\n$1\r\n7\r\n$-1\r\n", "%1\r\n:1\r\n:2\r\n"}) {
        const RawReply flat(bytes);
        RawReply reply;
        TreeReply tree;
        reply.use(tree);
        ASSERT_TRUE(reply.feed(bytes));
        EXPECT_EQ(text_of(*reply), text_of(*flat));
    }
}

TEST(TreeReply, PartsThatBelongToNoReplyAreMalformed) {
    TreeReply tree;
    tree.add_integer(1);
    tree.add_integer(2);
    EXPECT_EQ(text_of(tree), "malformed");
    tree.add_text(TreeReply::Kind::bulk, "x");
    tree.add_array(1);
    EXPECT_EQ(text_of(tree), "malformed") << "until the next clear()";
}

}  // namespace
}  // namespace rate_limit::tree_reply_test
