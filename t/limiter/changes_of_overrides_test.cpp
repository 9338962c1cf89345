// Changes of the overrides that machines share, as operators make them: what both are told, and what each
// machine has then.

#include <string>
#include <utility>

#include "limiter/zone.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/shared_overrides.h"
#include "t/world/sentinel.h"

namespace rate_limit::world::changes_of_overrides_test {
namespace {

/// The key's pattern is `%R~`: what there is can be read. The operator is told what is lacking, and so is the
/// log.
TEST(ChangesOfOverrides, AreRefusedWhereTheUserMayOnlyReadThem) {
    for (const char* refusal : {"ERR ACL failure in script: No permissions to access a key",
                                "NOPERM No permissions to access a key"}) {
        SCOPED_TRACE(refusal);
        Scenario world({"default", "1000r/h"});
        world.setup.stores.front().shares_overrides = true;
        Scripted primary(world.events, world.network, Scenario::primary_address,
                         [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                             return is_write(words) ? ScriptedReply(error(refusal))
                                                    : serve_overrides(words, "7");
                         });
        world.worker();
        world.pass(3'000);
        const Act ban(world.worker(), "client", OverrideKind::ban);
        ASSERT_TRUE(world.until([&ban] { return ban.over(); }));
        EXPECT_EQ(ban.trouble(), SharedChange::Trouble::unavailable);
        EXPECT_NE(ban.reason().find("its user may not write to the key"), std::string::npos) << ban.reason();
        world.pass(3'000);
        EXPECT_EQ(world.logged("answered overrides.lua: .*No permissions to access a key"), 1U);
        EXPECT_EQ(world.logged("."), 1U);
    }
}

/// A sentinel names another primary while an order is on its way to the former one: what that has taken is
/// lost with it. The operator is told that nobody knows what became of it, and the machine does not take it
/// up.
TEST(ChangesOfOverrides, AreInDoubtWhereAFormerPrimaryAnswers) {
    OneMachine world({"default", "1000r/h"}, 9'000);
    Redis next(world.events, world.network, "10.0.0.2:6379");
    Sentinel sentinel(world.network, "10.0.1.1:26379");
    sentinel.watch("m").primary = world.primary.address();
    sentinel.watch("m").epoch = 1;
    StoreSetup& store = world.setup.stores.front();
    store.shares_overrides = true;
    store.shards = {{"a", "", {}, "m"}};
    store.sentinels = {sentinel.address()};
    world.worker();
    world.pass(3'000);
    world.primary.link().back = 3'000'000;
    const Act act(world.worker(), "a", OverrideKind::ban);
    world.pass(3'500);  // what there is has been read, and the order is there
    EXPECT_TRUE(world.primary.server().databases().front().find("rl:!overrides") != nullptr);
    sentinel.watch("m").primary = next.address();
    sentinel.watch("m").epoch = 2;
    EXPECT_TRUE(world.until([&] { return world.logged("before it was") != 0; }));
    ASSERT_TRUE(world.until([&] { return act.over(); }));
    EXPECT_EQ(act.trouble(), SharedChange::Trouble::in_doubt);
    world.pass(3'000);
    EXPECT_TRUE(world.worker().zone().overrides().read(world.at()).empty());
}

/// Two machines of two workers each.
class TwoMachines : public testing::Test {
protected:
    TwoMachines() {
        world.setup.stores.front().shares_overrides = true;
        for (std::size_t i = 0; i < 4; ++i) {
            world.worker(i % 2, i / 2);
        }
        world.pass(3'000);
    }

    /// The kind of the key's override on that machine, as its zone has it.
    OverrideKind kind_on(std::size_t machine, const std::string& key) {
        OverrideKind kind = OverrideKind::none;
        world.worker(0, machine).loop().turn([&] {
            Zone& zone = *configuration_at_work()->stores.front()->zone;
            for (const Override& what : zone.overrides().read(now_millis())) {
                kind = what.subject.key == client_id(zone, "main", "default", key) ? what.kind : kind;
            }
        });
        return kind;
    }

    /// It is so on both machines.
    bool all_have(const std::string& key, OverrideKind kind) {
        return kind_on(0, key) == kind && kind_on(1, key) == kind;
    }

    OneMachine world{{"default", "1000r/h"}, 9'000};
};

TEST_F(TwoMachines, BothWinOfDifferentKeysAtTheSameTime) {
    for (const char* key : {"a", "c", "e"}) {
        const std::string other(1, static_cast<char>(*key + 1));
        const Act one(world.worker(0, 0), key, OverrideKind::ban);
        const Act two(world.worker(1, 1), other, OverrideKind::ban);
        const Act three(world.worker(1, 0), key + other, OverrideKind::ban);
        ASSERT_TRUE(world.until([&] { return one.done() && two.done() && three.done(); }));
        world.pass(2'000);
        for (const std::string& each : {std::string(key), other, key + other}) {
            EXPECT_TRUE(all_have(each, OverrideKind::ban)) << each;
        }
    }
    const Act one(world.worker(0, 0), "a", OverrideKind::none);
    const Act two(world.worker(1, 1), "b", OverrideKind::none);
    ASSERT_TRUE(world.until([&] { return one.done() && two.done(); }));
    world.pass(2'000);
    EXPECT_TRUE(all_have("a", OverrideKind::none));
    EXPECT_TRUE(all_have("b", OverrideKind::none));
    EXPECT_TRUE(all_have("ef", OverrideKind::ban));
}

TEST_F(TwoMachines, TheLaterWinsOfTheSameKey) {
    world.primary.link().back = 200'000;  // answers are on their way for so long
    const Act ban(world.worker(0, 0), "a", OverrideKind::ban);
    world.pass(50);
    const Act allow(world.worker(0, 1), "a", OverrideKind::allow);
    ASSERT_TRUE(world.until([&] { return ban.done() && allow.done(); }));
    EXPECT_EQ(kind_on(1, "a"), OverrideKind::allow) << "on its machine it holds at once";
    world.pass(2'000);
    EXPECT_TRUE(all_have("a", OverrideKind::allow));
}

/// There is nothing yet. An operator's worker has read that, and before it hears so the other worker of its
/// machine takes up what another operator has set meanwhile: that does not end by what the first one writes
/// then.
TEST_F(TwoMachines, TheFirstTwoAreBothKept) {
    world.primary.link().back = 3'000'000;
    const Act one(world.worker(0, 0), "a", OverrideKind::ban);
    world.pass(10);
    world.primary.link().back = 1'000;
    const Act two(world.worker(1, 1), "b", OverrideKind::ban);
    ASSERT_TRUE(world.until([&] { return two.done() && kind_on(0, "b") == OverrideKind::ban; }));
    ASSERT_FALSE(one.done());
    ASSERT_TRUE(world.until([&] { return one.done(); }));
    world.pass(2'000);
    EXPECT_TRUE(all_have("a", OverrideKind::ban));
    EXPECT_TRUE(all_have("b", OverrideKind::ban));
}

/// The answer to a look is on its way for seconds, while others change what it says.
TEST_F(TwoMachines, WhatIsReadLateEndsNothing) {
    const Act first(world.worker(0, 0), "a", OverrideKind::ban);
    ASSERT_TRUE(world.until([&] { return first.done(); }));
    world.primary.link().back = 4'000'000;
    world.pass(1'500);
    world.primary.link().back = 1'000;
    const Act second(world.worker(1, 1), "b", OverrideKind::ban);
    ASSERT_TRUE(world.until([&] { return second.done(); }));
    for (int i = 0; i < 60; ++i) {
        world.pass(100);
        EXPECT_EQ(kind_on(1, "b"), OverrideKind::ban);
    }
    EXPECT_TRUE(all_have("a", OverrideKind::ban));
    EXPECT_TRUE(all_have("b", OverrideKind::ban));
}

/// A worker reads all of them, and hears it late, after the other worker of its machine has taken up one
/// more.
TEST(ChangesOfOverrides, DoNotEndByWhatIsReadLate) {
    for (const Msec timeout : {9'000, 60'000}) {
        SCOPED_TRACE(timeout);
        Scenario world({"default", "1000r/h"}, timeout);
        world.setup.stores.front().shares_overrides = true;
        Redis redis(world.events, world.network, "10.0.0.9:6379");
        bool holds = false;
        bool held = false;
        Scripted primary(world.events, world.network, Scenario::primary_address,
                         relaying(redis, [&](const Command& words, ScriptedClient&, std::string answer) {
                             if (words[0] == "hgetall" && holds) {
                                 holds = false;
                                 held = true;
                                 return hold("gate", std::move(answer));
                             }
                             return ScriptedReply(std::move(answer));
                         }));
        world.worker(0, 0);
        world.worker(0, 1);
        world.pass(3'000);
        const Act first(world.worker(0, 1), "a", OverrideKind::ban);
        ASSERT_TRUE(world.until([&] { return first.done(); }));
        holds = true;
        ASSERT_TRUE(world.until([&] { return held; }));
        const Act second(world.worker(1, 0), "b", OverrideKind::ban);
        ASSERT_TRUE(world.until([&] { return second.done(); }, 2'000));
        OverrideTable& table = world.worker(1, 0).zone().overrides();
        const auto all = [&] { return table.read(world.at()).size(); };
        EXPECT_EQ(all(), 2U);
        world.pass(timeout - 3'000);
        primary.release("gate");
        for (int i = 0; i < 200; ++i) {
            world.pass(10);
            ASSERT_EQ(all(), 2U) << i;
        }
        EXPECT_TRUE(world.stop_all());
    }
}

}  // namespace
}  // namespace rate_limit::world::changes_of_overrides_test
