// Changes of the overrides that machines share, as operators make them: what both are told, and what each
// machine has then.

#include <string>
#include <utility>

#include "limiter/zone.h"
#include "t/limiter/checked.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/poster.h"
#include "t/limiter/scripted_cluster.h"
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

TEST(ChangesOfOverrides, AreInDoubtAndNotSentAgainWithoutAnAnswer) {
    Scenario world({"default", "1000r/h"}, 300);
    world.setup.stores.front().shares_overrides = true;
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         return is_write(words) ? no_reply() : serve_overrides(words, "7");
                     });
    world.worker();
    const std::pair<const char*, const char*> cases[] = {
        {"do=ban&limit=default&key=a&for=100s", "ban for 100 s"}, {"do=clear&limit=default&key=a", "none"}};
    for (const auto& [posted, said] : cases) {
        world.pass(5'000);
        const std::size_t before = primary.writes().size();
        EXPECT_TRUE(has(answer_to(world, posted), "^503 InDoubt: "));
        EXPECT_EQ(
            world.logged(std::string("rate limit \"default\" of \"main\", id [0-9a-f]{16}: override: ") +
                         said + ", in doubt whether it was done, before: none, by the console"),
            1U);
        world.pass(10'000);
        EXPECT_EQ(primary.writes().size(), before + 1) << "it was sent once";
        EXPECT_TRUE(world.worker().zone().overrides().read(world.at()).empty()) << "and does not hold here";
    }
}

/// The kind of the key's override on that machine, as its zone has it.
OverrideKind kind_of(Scenario& world, const std::string& key, std::size_t machine = 0) {
    Zone& zone = world.machine(machine).zone();
    OverrideKind kind = OverrideKind::none;
    for (const Override& what : zone.overrides().read(world.at())) {
        kind = what.subject.key == client_id(zone, "main", "default", key) ? what.kind : kind;
    }
    return kind;
}

/// Two machines of two workers each.
class TwoMachines : public testing::Test {
protected:
    TwoMachines() {
        world.setup.stores.front().shares_overrides = true;
        world.setup.zone_size = Zone::default_size;
        for (std::size_t i = 0; i < 4; ++i) {
            world.worker(i % 2, i / 2);
        }
        world.pass(3'000);
    }

    OverrideKind kind_on(std::size_t machine, const std::string& key) { return kind_of(world, key, machine); }

    /// It is so on both machines.
    bool all_have(const std::string& key, OverrideKind kind) {
        return kind_on(0, key) == kind && kind_on(1, key) == kind;
    }

    /// The result of this act at the newest worker of that machine.
    std::string post(const std::string& posted, std::size_t machine = 0) {
        return answer_to(world, posted + "&limit=default", world.machine(machine).workers().back().get());
    }

    /// Another version, and one field with this value.
    void put(const std::string& value) {
        Hash shared;
        shared.set("version", std::to_string(++later));
        shared.set("default/:x", value);
        keys().make(at_key).content = shared;
    }

    Keyspace& keys() { return world.primary.server().databases().front(); }

    /// This field of what is at the key; empty: there is none.
    std::string stored(const std::string& name) {
        const Value* all = keys().find(at_key);
        const std::string* field = all == nullptr ? nullptr : std::get<Hash>(all->content).find(name);
        return field == nullptr ? "" : *field;
    }

    const std::string at_key = "rl:!overrides";
    const std::string unusable = "the overrides at \"rl:!overrides\" of \"rate_limit_redis main\" are ";
    Millis later = 4'000'000'000'000;
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

/// The text at the key cannot be used: each machine says so once, and what was known holds on it. The next
/// act writes that anew, also after a reload.
TEST_F(TwoMachines, TheLastGoodOnesReplaceWhatCannotBeUsed) {
    const std::pair<std::string, std::string> cases[] = {{"gone", ""},
                                                         {"not what this module writes", "1 nonsense"},
                                                         {"above 512 KB", std::string(1 << 20, 'x')},
                                                         {"of another version of this module", "2 ban"}};
    EXPECT_TRUE(has(post("do=ban&key=a"), "shared"));
    for (const bool reloads : {false, true}) {
        for (const auto& [what, value] : cases) {
            SCOPED_TRACE(what + (reloads ? ", and a reload" : ""));
            const std::string before = what.substr(0, 2) + (reloads ? "2" : "1");
            EXPECT_TRUE(has(post("do=ban&key=" + before), "shared"));
            world.pass(2'000);
            value.empty() ? (void)keys().erase(at_key) : put(value);
            world.pass(5'000);
            EXPECT_EQ(world.logged(unusable + what +
                                   ": those that were known hold until they end; the next one "
                                   "that is set replaces what is there"),
                      2U);
            EXPECT_TRUE(all_have("a", OverrideKind::ban));
            EXPECT_TRUE(all_have(before, OverrideKind::ban));
            if (reloads) {
                world.reload();
                world.pass(5'000);
            }
            EXPECT_TRUE(has(post("do=ban&key=b"), "shared"));
            world.pass(2'000);
            for (const std::string& key : {std::string("a"), std::string("b"), before}) {
                EXPECT_TRUE(all_have(key, OverrideKind::ban)) << key;
            }
            EXPECT_TRUE(has(stored("default/:a"), "^1 ban 0 \\d+ \\d+ 192\\.0\\.2\\.7$"));
            EXPECT_EQ(stored("default/:x"), "");
            EXPECT_TRUE(has(post("do=clear&key=b"), "shared"));
            world.pass(2'000);
            EXPECT_TRUE(all_have("b", OverrideKind::none));
            EXPECT_EQ(world.logged(unusable), 2U);
            world.forget_lines();
        }
    }
}

/// It would end those of all others.
TEST_F(TwoMachines, AMachineThatKnowsNoneSetsNoneOverWhatItCannotRead) {
    EXPECT_TRUE(has(post("do=ban&key=a"), "shared"));
    world.pass(2'000);
    put("2 ban");
    world.worker(0, 2);
    world.pass(5'000);
    EXPECT_TRUE(has(post("do=ban&key=f", 2), "^503 StoreUnavailable: .*delete the key"));
    EXPECT_EQ(stored("default/:x"), "2 ban");
    EXPECT_EQ(
        world.logged(unusable + "of another version of this module: .*; none can be set until you delete "
                                "that key in Redis"),
        1U);
    EXPECT_TRUE(all_have("a", OverrideKind::ban));
    EXPECT_TRUE(has(post("do=ban&key=h"), "shared")) << "who knows them writes them";
    world.pass(2'000);
    EXPECT_EQ(kind_on(2, "a"), OverrideKind::ban);
    keys().erase(at_key);
    world.worker(0, 3);
    world.pass(5'000);
    EXPECT_TRUE(has(post("do=ban&key=f", 3), "shared")) << "where there is nothing it sets the first";
}

TEST_F(TwoMachines, NothingCanBeSetWhereTheKeyIsNoHash) {
    EXPECT_TRUE(has(post("do=ban&key=a"), "shared"));
    world.pass(2'000);
    keys().make(at_key).content = std::string("a string");
    world.pass(5'000);
    EXPECT_EQ(
        world.logged(unusable + "not a hash: those that were known hold until they end; none can be set "
                                "until you delete that key in Redis"),
        2U);
    EXPECT_TRUE(has(post("do=ban&key=c"), "^503 "));
    EXPECT_TRUE(all_have("a", OverrideKind::ban));
    world.pass(3'600'000);
    EXPECT_TRUE(all_have("a", OverrideKind::none));
}

/// One for which a machine has no room is refused before anything is written, as is the thousand and first.
TEST_F(TwoMachines, NoneIsSharedThatHasNoRoomHere) {
    world.setups[2] = world.setup;
    world.setups[2].zone_size = Zone::least_size;
    const std::size_t room = world.worker(0, 2).zone().overrides().capacity();
    EXPECT_EQ(room, 17U);
    const auto all = [this] { return std::get<Hash>(keys().find(at_key)->content).fields(); };
    for (std::size_t i = 1; i <= room; ++i) {
        EXPECT_TRUE(has(post("do=ban&key=k" + std::to_string(i), 2), "shared"));
    }
    auto before = all();
    EXPECT_TRUE(has(post("do=ban&key=x", 2), "^409 Full: "));
    EXPECT_EQ(all(), before);
    EXPECT_TRUE(has(post("do=allow&key=k3", 2), "shared")) << "one that is there is replaced";
    EXPECT_TRUE(has(post("do=clear&key=k1", 2), "shared"));
    EXPECT_TRUE(has(post("do=ban&key=x", 2), "shared")) << "where one ends there is room again";
    EXPECT_EQ(kind_on(2, "x"), OverrideKind::ban);
    EXPECT_TRUE(has(post("do=ban&key=y"), "shared")) << "another machine has room for more";
    world.pass(2'000);
    EXPECT_EQ(
        world.logged("1 of the overrides that machines share by \"rate_limit_redis main\" do not hold here: "
                     "there is no room"),
        1U);
    Hash thousand;
    thousand.set("version", "8000000000000");
    for (int i = 1; i <= 1'000; ++i) {
        thousand.set("default/:k" + std::to_string(i),
                     "1 ban 0 1 " + std::to_string(world.at(3'600'000)) + " x");
    }
    keys().make(at_key).content = thousand;
    ASSERT_TRUE(world.until([&] { return all_have("k1000", OverrideKind::ban); }));
    before = all();
    EXPECT_TRUE(has(post("do=ban&key=k1001"), "^409 "));
    EXPECT_EQ(all(), before);
    EXPECT_TRUE(has(post("do=allow&key=k1000"), "shared"));
    EXPECT_EQ(kind_on(0, "k1000"), OverrideKind::allow);
}

TEST(OverridesOfThisMachine, AreAThousandAtMost) {
    Scenario world({"default", "5r/h"});
    world.setup.limits.front().store = "local";
    world.setup.zone_size = Zone::default_size;
    const auto post = [&world](const std::string& posted) {
        return answer_to(world, posted + "&limit=default");
    };
    const auto all = [&world] { return world.worker().zone().overrides().read(world.at()); };
    for (int i = 1; i <= 1'000; ++i) {
        ASSERT_TRUE(has(post("do=ban&key=k" + std::to_string(i)), "\"kind\":\"ban\""));
    }
    EXPECT_TRUE(has(post("do=ban&key=k1001"), "^409 Full: "));
    EXPECT_EQ(all().size(), 1'000U);
    EXPECT_TRUE(has(post("do=allow&key=k500"), "\"kind\":\"allow\"")) << "one that is there is replaced";
    EXPECT_TRUE(has(post("do=clear&key=k1"), "\"override\":null"));
    EXPECT_TRUE(has(post("do=off"), "\"kind\":\"off\"")) << "which makes room for one";
    EXPECT_TRUE(has(post("do=ban&key=k1"), "^409 Full: "));
    EXPECT_EQ(all().size(), 1'000U);
}

/// It was set before a reload to `overrides shared`.
TEST(OverridesOfThisMachine, EndByAClearOfWhatMachinesShare) {
    OneMachine world({"default", "1000r/h"}, 9'000);
    const auto post = [&](const char* posted) {
        return answer_to(world, std::string(posted) + "&limit=default&key=a",
                         world.machine().workers().back().get());
    };
    EXPECT_TRUE(has((world.worker(), post("do=ban&for=1h")), "\"scope\":\"machine\""));
    world.setup.stores.front().shares_overrides = true;
    world.reload();
    world.pass(3'000);
    const auto all = [&world] { return world.machine().zone().overrides().read(world.at()).size(); };
    EXPECT_EQ(all(), 1U);
    EXPECT_TRUE(has(post("do=clear"), "\"override\":null"));
    EXPECT_EQ(all(), 0U);
    EXPECT_EQ(world.logged("override: none, before: ban for 3\\d{3} s, by the console"), 1U);
    EXPECT_TRUE(has(post("do=clear"), "\"override\":null"));
    EXPECT_EQ(world.logged("override: none, before: none, by the console"), 1U);
}

/// A worker that leaves may still hear of them: what it hears late ends none that is newer, and what it set
/// itself holds.
TEST(ChangesOfOverrides, AreNotUndoneByWhatALeavingWorkerHearsLate) {
    OneMachine world({"default", "1000r/h"}, 30'000);
    world.setup.stores.front().shares_overrides = true;
    world.setup.stores.front().shards = {{"a", "10.0.0.8:6379"}};
    const char* held = "hgetall";  // the next answer to such a command is; empty: none
    Scripted relay(world.events, world.network, "10.0.0.8:6379",
                   relaying(world.primary, [&](const Command& words, ScriptedClient&, std::string answer) {
                       const bool holds = words[0] == held && answer[0] != '-';
                       held = holds ? "" : held;
                       return holds ? hold("gate", std::move(answer)) : ScriptedReply(std::move(answer));
                   }));
    const auto put = [&](const char* version, const char* key) {
        Hash shared;
        shared.set("version", version);
        if (*key != '\0') {
            shared.set(std::string("default/:") + key,
                       "1 ban 0 1 " + std::to_string(world.at(3'600'000)) + " x");
        }
        world.primary.server().databases().front().make("rl:!overrides").content = shared;
    };
    const auto has_ban = [&](const char* key) { return kind_of(world, key) == OverrideKind::ban; };
    put("7", "old");
    world.begin("keeps the worker");
    ASSERT_TRUE(world.until([&] { return *held == '\0'; }));
    put("9", "new");
    world.reload();
    ASSERT_TRUE(world.until([&] { return has_ban("new") && !has_ban("old"); }));
    relay.release("gate");
    for (int i = 0; i < 500; ++i) {
        world.pass(10);
        ASSERT_TRUE(has_ban("new") && !has_ban("old")) << i;
    }

    put("10", "");
    ASSERT_TRUE(world.until([&] { return !has_ban("new"); }));
    held = "evalsha";
    WorkerProcess& leaving = *world.machine().workers().back();
    const Act first(leaving, "first", OverrideKind::ban);
    ASSERT_TRUE(world.until([&] { return *held == '\0'; }));
    world.reload();
    const Act second(*world.machine().workers().back(), "second", OverrideKind::ban);
    ASSERT_TRUE(world.until([&] { return second.done(); }));
    relay.release("gate");
    ASSERT_TRUE(world.until([&] { return first.done(); }));
    world.pass(2'000);
    for (int i = 0; i < 300; ++i) {
        world.pass(10);
        ASSERT_TRUE(has_ban("first") && has_ban("second")) << i;
    }
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
