#include "core/topology/unclaimed_slots.h"

#include <gtest/gtest.h>

namespace rate_limit {
namespace {

Group group(const char* primary, std::vector<Endpoint> replicas, std::vector<SlotRange> slots) {
    Group made;
    made.primary = {primary, 1};
    made.replicas = std::move(replicas);
    made.slots = std::move(slots);
    return made;
}

Topology kept(const Topology& before, Topology map) {
    UnclaimedSlots().keep(before, map, 1000);
    return map;
}

const Topology whole = {{group("a", {{"x", 1}}, {{0, 5999}}), group("b", {{"y", 1}}, {{6000, 9999}}),
                         group("c", {{"z", 1}}, {{10000, 16383}})}};

TEST(UnclaimedSlots, StayWithAPrimaryThatNobodyFollowsYet) {
    EXPECT_EQ(kept(whole, {{whole.groups[0], whole.groups[2]}}), whole);
    EXPECT_EQ(kept(whole, {{whole.groups[1]}}), whole);
}

TEST(UnclaimedSlots, AreNoneWhereAnotherPrimaryHasThem) {
    const Topology now = {{whole.groups[0], whole.groups[2], group("y", {}, {{6000, 9999}})}};
    EXPECT_EQ(kept(whole, now), now);
}

TEST(UnclaimedSlots, GoBackToAPrimaryThatHasOthers) {
    EXPECT_EQ(kept(whole, {{whole.groups[0], group("b", {}, {{6000, 6999}, {7001, 9998}}), whole.groups[2]}}),
              (Topology{{whole.groups[0], group("b", {}, {{6000, 9999}}), whole.groups[2]}}));
}

TEST(UnclaimedSlots, ArePartlyKeptWhereTheOthersHaveMoved) {
    EXPECT_EQ(kept(whole, {{group("a", {{"x", 1}}, {{0, 6999}}), group("c", {{"z", 1}}, {{9000, 16383}})}}),
              (Topology{{group("a", {{"x", 1}}, {{0, 6999}}), group("b", {{"y", 1}}, {{7000, 8999}}),
                         group("c", {{"z", 1}}, {{9000, 16383}})}}));
}

TEST(UnclaimedSlots, AreNobodysIfTheirPrimaryIsAReplica) {
    const Topology now = {{group("a", {{"b", 1}, {"x", 1}}, {{0, 5999}}), whole.groups[2]}};
    EXPECT_EQ(kept(whole, now), now);
}

TEST(UnclaimedSlots, DoNotBringBackReplicasThatAreElsewhere) {
    const Topology now = {{group("a", {{"y", 1}}, {{0, 5999}}), whole.groups[2]}};
    EXPECT_EQ(kept(whole, now), (Topology{{now.groups[0], group("b", {}, {{6000, 9999}}), whole.groups[2]}}));
    const Topology leading = {{whole.groups[0], whole.groups[2], group("y", {}, {{7000, 9999}})}};
    EXPECT_EQ(kept(whole, leading), (Topology{{whole.groups[0], group("b", {}, {{6000, 6999}}),
                                               whole.groups[2], group("y", {}, {{7000, 9999}})}}));
}

TEST(UnclaimedSlots, AreNobodysAfterAWhile) {
    UnclaimedSlots slots;
    const Topology without = {{whole.groups[0], whole.groups[2]}};
    Topology used = whole;
    const auto take = [&](Topology map, Millis now) {
        slots.keep(used, map, now);
        used = map;
        return map;
    };
    EXPECT_EQ(take(without, 1000), whole);
    EXPECT_EQ(take(without, 1000 + UnclaimedSlots::kept_for - 1), whole);
    EXPECT_EQ(take(without, 1000 + UnclaimedSlots::kept_for), without);
    EXPECT_EQ(take(without, 2000 + UnclaimedSlots::kept_for), without);

    EXPECT_EQ(take(whole, 100'000), whole);
    EXPECT_EQ(take(without, 200'000), whole) << "from now on";
    EXPECT_EQ(take(whole, 220'000), whole);
    EXPECT_EQ(take(without, 225'000), whole) << "from now on again, for all were claimed between";
    EXPECT_EQ(take(without, 254'999), whole);
    EXPECT_EQ(take(without, 255'000), without);
}

TEST(UnclaimedSlots, AreKeptByEachPrimaryForItsOwnTime) {
    UnclaimedSlots slots;
    Topology map = {{whole.groups[0], whole.groups[2]}};
    slots.keep(whole, map, 0);
    EXPECT_EQ(map, whole);
    map = {{whole.groups[0]}};
    slots.keep(whole, map, UnclaimedSlots::kept_for - 1);
    EXPECT_EQ(map, whole) << "the third one is replaced now";
    map = {{whole.groups[0]}};
    slots.keep(whole, map, UnclaimedSlots::kept_for);
    EXPECT_EQ(map, (Topology{{whole.groups[0], whole.groups[2]}}));
    const Topology used = map;
    map = {{whole.groups[0]}};
    slots.keep(used, map, 2 * UnclaimedSlots::kept_for - 2);
    EXPECT_EQ(map, used);
    map = {{whole.groups[0]}};
    slots.keep(used, map, 2 * UnclaimedSlots::kept_for - 1);
    EXPECT_EQ(map, (Topology{{whole.groups[0]}}));
}

TEST(UnclaimedSlots, AreNobodysIfTheyWereBefore) {
    const Topology half = {{whole.groups[0]}};
    EXPECT_EQ(kept(half, half), half);
    EXPECT_EQ(kept({}, half), half);
    EXPECT_EQ(kept(half, {}), half);
    EXPECT_EQ(kept({}, {}), Topology{});
}

}  // namespace
}  // namespace rate_limit
