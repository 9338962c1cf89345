#include "core/topology/succession.h"

#include <gtest/gtest.h>

#include "groups.h"

namespace rate_limit::succession_test {
namespace {

using Indexes = std::vector<std::size_t>;

TEST(Predecessors, HaveTheSamePrimaryEvenIfMostSlotsHaveLeft) {
    const std::vector<Group> before = {group("a", {}, {{0, 99}}), group("b", {}, {{100, 199}})};
    const std::vector<Group> now = {group("b", {}, {{1, 199}}), group("a", {}, {{0, 0}})};
    EXPECT_EQ(predecessors(before, now), (Indexes{1, 0}));
}

TEST(Predecessors, HadThePrimaryAsAReplica) {
    const std::vector<Group> before = {group("a", {{"x", 1}}, {{0, 99}}),
                                       group("b", {{"y", 1}}, {{100, 199}})};
    const std::vector<Group> now = {group("y", {{"b", 1}}, {{100, 199}}), group("a", {{"x", 1}}, {{0, 99}})};
    EXPECT_EQ(predecessors(before, now), (Indexes{1, 0}));
}

TEST(Predecessors, HadMostOfTheSlotsIfTheirPrimaryIsGone) {
    const std::vector<Group> before = {group("a", {}, {{0, 9}, {20, 22}}),
                                       group("b", {}, {{10, 19}, {23, 99}})};
    const std::vector<Group> now = {group("new", {}, {{0, 9}, {20, 50}}), group("other", {}, {{10, 19}})};
    EXPECT_EQ(predecessors(before, now), (Indexes{1, no_group}))
        << "28 slots are of the second, 13 of the first";
}

TEST(Predecessors, AreOfOneGroupAtMost) {
    const std::vector<Group> before = {group("a", {}, {{0, 99}})};
    const std::vector<Group> now = {group("x", {}, {{0, 49}}), group("a", {}, {{50, 99}})};
    EXPECT_EQ(predecessors(before, now), (Indexes{no_group, 0}));
}

TEST(Predecessors, AreNotGroupsWithoutAPrimary) {
    const std::vector<Group> before = {Group{}, Group{}};
    const std::vector<Group> now = {group("a", {}, {{0, 99}})};
    EXPECT_EQ(predecessors(before, now), (Indexes{no_group}));
    EXPECT_EQ(predecessors({}, now), (Indexes{no_group}));
    EXPECT_EQ(predecessors(before, {}), Indexes{});
}

}  // namespace
}  // namespace rate_limit::succession_test
