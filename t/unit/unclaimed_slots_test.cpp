#include "core/topology/succession.h"

#include <gtest/gtest.h>

#include "groups.h"

namespace rate_limit::unclaimed_slots_test {
namespace {

Topology kept(const Topology& before, Topology map, Millis now = 1000) {
    keep_unclaimed(before, map, now);
    return map;
}

Group since(Millis time, Group group) {
    group.unclaimed_since = time;
    return group;
}

const Group a = group("a", {{"x", 1}}, {{0, 5999}});
const Group b = group("b", {{"y", 1}}, {{6000, 9999}});
const Group c = group("c", {{"z", 1}}, {{10000, 16383}});
const Topology whole = {{a, b, c}};

TEST(UnclaimedSlots, StayWithAPrimaryThatNobodyFollowsYet) {
    EXPECT_EQ(kept(whole, {{a, c}}), (Topology{{a, since(1000, b), c}}));
    EXPECT_EQ(kept(whole, {{b}}), (Topology{{since(1000, a), b, since(1000, c)}}));
}

TEST(UnclaimedSlots, AreNoneWhereAnotherPrimaryHasThem) {
    const Topology now = {{a, c, group("y", {}, {{6000, 9999}})}};
    EXPECT_EQ(kept(whole, now), now);
}

TEST(UnclaimedSlots, AreNobodysIfTheirPrimaryHasOthersOrIsAReplica) {
    const Topology leads = {{a, group("b", {}, {{6000, 9998}}), c}};
    EXPECT_EQ(kept(whole, leads), leads);
    const Topology follows = {{group("a", {{"b", 1}, {"x", 1}}, {{0, 5999}}), c}};
    EXPECT_EQ(kept(whole, follows), follows);
}

TEST(UnclaimedSlots, ArePartlyKeptWhereTheOthersHaveMoved) {
    EXPECT_EQ(kept(whole, {{group("a", {}, {{0, 6999}}), group("c", {}, {{9000, 16383}})}}),
              (Topology{{group("a", {}, {{0, 6999}}), since(1000, group("b", {{"y", 1}}, {{7000, 8999}})),
                         group("c", {}, {{9000, 16383}})}}));
}

TEST(UnclaimedSlots, DoNotBringBackReplicasThatAreElsewhere) {
    const Group moved = group("a", {{"y", 1}}, {{0, 5999}});
    EXPECT_EQ(kept(whole, {{moved, c}}), (Topology{{moved, since(1000, group("b", {}, {{6000, 9999}})), c}}));
    const Group leading = group("y", {}, {{7000, 9999}});
    EXPECT_EQ(kept(whole, {{a, c, leading}}),
              (Topology{{a, since(1000, group("b", {}, {{6000, 6999}})), c, leading}}));
}

TEST(UnclaimedSlots, AreNobodysAfterAWhile) {
    const Topology without = {{a, c}};
    Topology used = whole;
    const auto take = [&used](const Topology& map, Millis now) { return used = kept(used, map, now); };
    EXPECT_EQ(take(without, 1000), (Topology{{a, since(1000, b), c}}));
    EXPECT_EQ(take({{a}}, 999 + unclaimed_for),
              (Topology{{a, since(1000, b), since(999 + unclaimed_for, c)}}));
    EXPECT_EQ(take({{a}}, 1000 + unclaimed_for), (Topology{{a, since(999 + unclaimed_for, c)}}));
    EXPECT_EQ(take(without, 2000 + unclaimed_for), without);

    EXPECT_EQ(take(whole, 100'000), whole);
    EXPECT_EQ(take(without, 200'000), (Topology{{a, since(200'000, b), c}})) << "from now on";
    EXPECT_EQ(take(whole, 220'000), whole);
    EXPECT_EQ(take(without, 225'000), (Topology{{a, since(225'000, b), c}})) << "it was there between";
}

TEST(UnclaimedSlots, AreNobodysIfTheyWereBefore) {
    const Topology half = {{a}};
    EXPECT_EQ(kept(half, half), half);
    EXPECT_EQ(kept({}, half), half);
    EXPECT_EQ(kept(half, {}), (Topology{{since(1000, a)}}));
    EXPECT_EQ(kept({}, {}), Topology{});
}

}  // namespace
}  // namespace rate_limit::unclaimed_slots_test
