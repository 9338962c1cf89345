#include "core/topology/slot_map.h"

#include <gtest/gtest.h>

#include "groups.h"

namespace rate_limit::slot_map_test {
namespace {

Endpoint at(const char* host) {
    return {host, 1};
}

const Topology two = {{group("a", {at("x")}, {{0, 99}}), group("b", {at("y")}, {{100, 16382}})}};
const RecentMoves no_moves;

std::string primary_of(const SlotMap& map, std::uint16_t slot) {
    return map.group(map.owner(slot)).primary.host;
}

std::vector<SlotMap::Number> take_all(SlotMap& map) {
    std::vector<SlotMap::Number> numbers;
    while (!map.changed().empty()) {
        numbers.push_back(map.take_changed());
    }
    return numbers;
}

TEST(SlotMap, IsNobodysAtFirst) {
    const SlotMap map;
    EXPECT_EQ(map.owner(0), 0);
    EXPECT_EQ(map.owner(slot_count - 1), 0);
    EXPECT_EQ(map.group(0).primary.port, 0);
    EXPECT_TRUE(map.changed().empty());
}

TEST(SlotMap, IsAsTheTopologySays) {
    SlotMap map;
    map.take(two, no_moves);
    EXPECT_EQ(primary_of(map, 99), "a");
    EXPECT_EQ(primary_of(map, 100), "b");
    EXPECT_EQ(map.owner(16383), 0) << "nobody serves it";
    EXPECT_EQ(take_all(map).size(), 2U);
    map.take(two, no_moves);
    EXPECT_TRUE(map.changed().empty()) << "the same again";
}

TEST(SlotMap, ANumberGoesOverToTheGroupThatFollows) {
    SlotMap map;
    map.take(two, no_moves);
    take_all(map);
    const SlotMap::Number a = map.owner(0);
    const SlotMap::Number b = map.owner(100);
    map.take({{group("new", {}, {{200, 300}}), group("x", {at("a")}, {{0, 99}}),
               group("b", {at("y")}, {{100, 199}})}},
             no_moves);
    EXPECT_EQ(map.owner(0), a);
    EXPECT_EQ(map.owner(100), b);
    EXPECT_EQ(primary_of(map, 0), "x");
    EXPECT_EQ(primary_of(map, 200), "new");
    EXPECT_EQ(map.owner(1000), 0);
    EXPECT_EQ(take_all(map), (std::vector<SlotMap::Number>{map.owner(200), a}));
}

TEST(SlotMap, ANumberThatIsFreeIsUsedAgain) {
    SlotMap map;
    map.take(two, no_moves);
    const SlotMap::Number a = map.owner(0);
    map.take({{group("b", {at("y")}, {{0, 16383}})}}, no_moves);
    take_all(map);
    EXPECT_EQ(map.group(a).primary.port, 0);
    EXPECT_EQ(map.make_primary(at("c")), a);
    EXPECT_EQ(map.size(), 3U);
}

TEST(SlotMap, AMoveChangesOneSlot) {
    SlotMap map;
    map.take(two, no_moves);
    take_all(map);
    map.move({7, at("b")});
    EXPECT_EQ(primary_of(map, 7), "b");
    EXPECT_EQ(primary_of(map, 8), "a");
    EXPECT_TRUE(map.changed().empty()) << "both groups have the nodes that they had";
}

TEST(SlotMap, AMoveToAReplicaReplacesItsPrimary) {
    SlotMap map;
    map.take(two, no_moves);
    take_all(map);
    const SlotMap::Number a = map.owner(7);
    map.move({7, at("x")});
    EXPECT_EQ(map.owner(7), a);
    EXPECT_EQ(primary_of(map, 8), "x") << "the whole group";
    EXPECT_TRUE(map.group(a).replicas.empty());
    EXPECT_EQ(take_all(map), std::vector<SlotMap::Number>{a});
}

TEST(SlotMap, AMoveToAnUnknownNodeMakesAGroupUntilTheNextTopology) {
    SlotMap map;
    map.take(two, no_moves);
    take_all(map);
    map.move({7, at("new")});
    const SlotMap::Number made = map.owner(7);
    EXPECT_EQ(primary_of(map, 7), "new");
    EXPECT_EQ(take_all(map), std::vector<SlotMap::Number>{made});
    map.take(two, no_moves);
    EXPECT_EQ(primary_of(map, 7), "a");
    EXPECT_EQ(take_all(map), std::vector<SlotMap::Number>{made}) << "its nodes are gone";
}

TEST(SlotMap, ATopologyDoesNotUndoRecentMoves) {
    SlotMap map;
    map.take(two, no_moves);
    RecentMoves moves;
    moves.add({7, at("y")}, 0);
    moves.add({8, at("new")}, 0);
    map.take(two, moves);
    EXPECT_EQ(primary_of(map, 7), "y");
    EXPECT_EQ(primary_of(map, 8), "new");
    EXPECT_EQ(primary_of(map, 100), "y") << "it is the primary of its group";
    EXPECT_EQ(primary_of(map, 9), "a");
}

TEST(SlotMap, AMoveToANodeThatWasReplacedIsToItsSuccessor) {
    SlotMap map;
    map.take(two, no_moves);
    RecentMoves moves;
    moves.add({7, at("b")}, 0);
    map.move({7, at("b")});
    take_all(map);
    map.take({{group("a", {at("x")}, {{0, 99}}), group("y", {}, {{100, 16382}})}}, moves);
    EXPECT_EQ(primary_of(map, 7), "y") << "b is gone, and y has taken its place";
    EXPECT_EQ(map.size(), 3U) << "no group was made";
}

TEST(SlotMap, AMoveToAStrangerIsToNoneThatGetsItsNumber) {
    SlotMap map;
    map.take(two, no_moves);
    RecentMoves moves;
    moves.add({7, at("stranger")}, 0);
    map.move({7, at("stranger")});
    map.take({{two.groups[0], two.groups[1], group("c", {}, {{16383, 16383}})}}, moves);
    EXPECT_EQ(primary_of(map, 7), "stranger");
    EXPECT_EQ(primary_of(map, 16383), "c");
}

TEST(SlotMap, ItsGroupGoesBackToAPrimaryThatWasReplaced) {
    SlotMap map;
    map.take(two, no_moves);
    RecentMoves moves;
    moves.add({7, at("x")}, 0);
    moves.add({8, at("a")}, 1);
    map.take(two, moves);
    for (const std::uint16_t slot : {7, 8, 9}) {
        EXPECT_EQ(primary_of(map, slot), "a") << "slot " << slot << ": the later word is on its side";
    }
    EXPECT_EQ(map.group(map.owner(7)).replicas, std::vector<Endpoint>{at("x")});
    EXPECT_EQ(map.size(), 3U) << "no group was made";
}

TEST(SlotMap, FindsPrimariesAndChangesNothing) {
    SlotMap map;
    map.take(two, no_moves);
    take_all(map);
    EXPECT_EQ(map.find(at("b")), map.owner(100));
    EXPECT_EQ(map.find(at("y")), 0) << "a replica";
    EXPECT_TRUE(map.names(at("y")));
    EXPECT_FALSE(map.names(at("new")));
    EXPECT_EQ(map.find({}), 0) << "number 0 has no nodes";
    EXPECT_EQ(map.size(), 3U);
    map.move({7, at("x")});
    EXPECT_EQ(map.find(at("a")), 0);
    EXPECT_TRUE(map.names(at("a"))) << "it was the primary";
}

TEST(SlotMap, KnowsInWhichPartsAGroupHasSlots) {
    SlotMap map;
    map.take({{group("a", {}, {{0, 1023}, {4096, 4096}}), group("b", {}, {{1024, 4095}})}}, no_moves);
    EXPECT_EQ(map.parts(map.owner(0)), 0b1'0001);
    EXPECT_EQ(map.parts(map.owner(1024)), 0b1110);
    EXPECT_EQ(map.parts(0), 0xffff) << "what nobody serves may be anywhere";
    map.move({16383, at("b")});
    EXPECT_EQ(map.parts(map.owner(1024)), 0b1000'0000'0000'1110);
    map.move({1, at("new")});
    EXPECT_EQ(map.parts(map.owner(1)), 1);
}

TEST(SlotMap, HasRoomForSomeNodesThatNoTopologyNames) {
    SlotMap map;
    map.take(two, no_moves);
    const auto port = [](std::size_t i) { return static_cast<std::uint16_t>(i + 1); };
    for (std::size_t i = 0; i < SlotMap::most_strangers; ++i) {
        EXPECT_NE(map.make_primary({"stranger", port(i)}), 0);
    }
    EXPECT_EQ(map.make_primary({"stranger", 1000}), 0);
    map.move({7, {"stranger", 1000}});
    EXPECT_EQ(primary_of(map, 7), "a");
    RecentMoves moves;
    for (std::uint16_t slot = 0; slot < 1000; ++slot) {
        moves.add({slot, {"stranger", port(slot)}}, 0);
    }
    map.take(two, moves);
    EXPECT_EQ(map.size(), 3 + SlotMap::most_strangers);
    EXPECT_EQ(primary_of(map, 999), "b");
}

TEST(RecentMoves, AreForgottenAfterFiveSeconds) {
    RecentMoves moves;
    moves.add({7, at("a")}, 1000);
    moves.add({8, at("a")}, 2000);
    moves.add({7, at("b")}, 3000);
    EXPECT_FALSE(moves.forget(6999));
    EXPECT_TRUE(moves.forget(7000));
    moves.for_each([](const Move& move) {
        EXPECT_EQ(move.slot, 7);
        EXPECT_EQ(move.to.host, "b") << "the last word on a slot";
    });
    EXPECT_FALSE(moves.empty());
    EXPECT_TRUE(moves.forget(8000));
    EXPECT_TRUE(moves.empty());
}

TEST(RecentMoves, AreNotKeptForLongerWhereTheClockGoesBack) {
    RecentMoves moves;
    moves.add({7, at("a")}, 100'000);
    EXPECT_FALSE(moves.forget(1000));
    EXPECT_TRUE(moves.forget(6000));
}

}  // namespace
}  // namespace rate_limit::slot_map_test
