#include "core/gathering.h"

#include <gtest/gtest.h>

namespace rate_limit {
namespace {

constexpr std::uint64_t now = 5'000'000;
constexpr std::uint64_t longest = Gathering::longest;

/// After one write that carried this many commands.
Gathering after_write_of(std::size_t count) {
    Gathering gathering;
    EXPECT_TRUE(gathering.leaves_now(false, now));
    for (std::size_t i = 1; i < count; ++i) {
        EXPECT_TRUE(gathering.leaves_now(true, now));
    }
    return gathering;
}

TEST(Gathering, FewLeaveAtOnce) {
    Gathering gathering = after_write_of(Gathering::least - 1);
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(gathering.leaves_now(false, now));
    }
}

TEST(Gathering, ManyWaitForOthers) {
    Gathering gathering = after_write_of(Gathering::least);
    EXPECT_FALSE(gathering.leaves_now(false, now));
    EXPECT_EQ(gathering.wait(now), longest);
    EXPECT_FALSE(gathering.leaves_now(false, now + longest - 1));
    EXPECT_EQ(gathering.wait(now + longest - 1), 1U);
}

TEST(Gathering, NoneWaitsLongerThanTheLongest) {
    Gathering gathering = after_write_of(Gathering::least);
    EXPECT_TRUE(gathering.leaves_now(false, now + longest));
    EXPECT_EQ(gathering.wait(now + 2 * longest), 0U);
}

TEST(Gathering, ThoseThatWaitGoWithAnyOtherWrite) {
    Gathering gathering = after_write_of(Gathering::least);
    EXPECT_TRUE(gathering.leaves_now(true, now));
}

TEST(Gathering, GoesOnAsLongAsManyGather) {
    Gathering gathering = after_write_of(Gathering::least);
    gathering.left(Gathering::least, now + longest);
    EXPECT_FALSE(gathering.leaves_now(false, now + longest + 1));
    EXPECT_EQ(gathering.wait(now + longest + 1), longest - 1);
    gathering.left(Gathering::least - 1, now + 2 * longest);
    EXPECT_TRUE(gathering.leaves_now(false, now + 2 * longest));
}

}  // namespace
}  // namespace rate_limit
