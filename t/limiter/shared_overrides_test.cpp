// Overrides that machines share, as a worker takes them up.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "limiter/client_id.h"
#include "limiter/overrides/shared_change.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"
#include "t/limiter/one_machine.h"
#include "t/world/sentinel.h"

namespace rate_limit::world::shared_overrides_test {
namespace {

/// A reload without a master process can take http from a worker while it waits for an answer.
TEST(SharedOverrides, AreForNobodyWhereThereIsNoConfigurationAnyMore) {
    OneMachine world({"default", "5r/m"});
    world.setup.stores.front().shares_overrides = true;
    Hash shared;
    shared.set("version", "7");
    world.primary.server().databases().front().make("rl:!overrides").content = shared;
    Loop& loop = world.worker().loop();
    world.pass(5'000);
    world.primary.link().back = 50'000;  // answers are on their way for so long
    shared.set("version", "8");
    world.primary.server().databases().front().find("rl:!overrides")->content = shared;
    const std::uint64_t commands = world.primary.server().commands();
    while (world.primary.server().commands() == commands) {
        world.pass(1);
    }
    const Configuration* const configuration = std::exchange(loop.configuration, nullptr);
    world.pass(5'000);
    loop.configuration = configuration;
    EXPECT_TRUE(world.admits("client", 1'500));
}

/// Redis is asked for their version alone, once a second; for the whole only where the version is another
/// one, and once for all workers of a machine.
TEST(SharedOverrides, AreReadOnceForEachVersion) {
    Scenario world({"default", "1000r/h"}, 9'000);
    world.setup.stores.front().shares_overrides = true;
    std::string version = "5";
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         if (words[0] == "hgetall") {
                             return array({bulk("version"), bulk(version)});
                         }
                         return words[0] == "hmget" ? array({bulk(version)}) : fallback(words);
                     });
    const auto asked = [&](const char* name) {
        const auto reads = primary.commands(name);
        return std::count_if(reads.begin(), reads.end(),
                             [](const Command& read) { return read[1] == "rl:!overrides"; });
    };
    world.worker(1);
    world.pass(4'500);
    EXPECT_GE(asked("hmget"), 3);
    EXPECT_LE(asked("hmget"), 6) << "once a second, by one of the workers, and by each at its start";
    EXPECT_EQ(asked("hgetall"), 1);
    version = "6";
    world.pass(4'500);
    EXPECT_GE(asked("hmget"), 7);
    EXPECT_EQ(asked("hgetall"), 2);
}

/// What a look is told is of before where the machine has taken up a version since it asked.
TEST(SharedOverrides, AreNotWhatAnOvertakenLookIsTold) {
    Scenario world({"default", "1000r/h"}, 9'000);
    world.setup.stores.front().shares_overrides = true;
    std::string version = "5";
    bool holds = false;
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         if (words[0] == "hmget" && std::exchange(holds, false)) {
                             return hold("look", array({nil()}));
                         }
                         return words[0] == "hgetall" ? array({bulk("version"), bulk(version)})
                                : words[0] == "hmget" ? array({bulk(version)})
                                                      : fallback(words);
                     });
    world.worker(1);
    world.pass(4'500);
    holds = true;
    ASSERT_TRUE(world.until([&holds] { return !holds; }));
    version = "6";
    ASSERT_TRUE(world.until([&primary] { return primary.commands("hgetall").size() == 2; }, 5'000))
        << "the other worker looks";
    primary.release("look");
    world.pass(100);
    EXPECT_EQ(world.logged("are gone"), 0U);
    version = "";
    world.pass(3'000);
    EXPECT_EQ(world.logged("are not what this module writes"), 1U) << "what later ones are told is";
}

/// A board that is full leaves some out. They hold as soon as something has ended: one of them, or one of
/// this machine, or an operator has ended that.
TEST(SharedOverrides, HoldAsSoonAsThereIsRoom) {
    enum class Ends { shared, own, own_by_operator };
    for (const Ends ends : {Ends::shared, Ends::own, Ends::own_by_operator}) {
        SCOPED_TRACE(static_cast<int>(ends));
        Scenario world({"default", "1000r/h"}, 9'000);
        world.setup.stores.front().shares_overrides = true;
        world.setup.zone_size = std::size_t{128} << 10;
        std::string reply;
        Scripted primary(world.events, world.network, Scenario::primary_address,
                         [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                             return words[0] == "hgetall" ? ScriptedReply(reply)
                                    : words[0] == "hmget" ? array({bulk("7")})
                                                          : fallback(words);
                         });
        const Millis soon = world.at() + 30'000;
        const Millis late = soon + 3'600'000;
        OverrideTable& table = world.worker().zone().overrides();
        Override own;
        own.subject = {2, 2};
        own.kind = OverrideKind::ban;
        own.until = ends == Ends::own ? soon : late;
        ASSERT_TRUE(table.put(own, world.at()));
        const std::size_t places = table.capacity();
        std::vector<std::string> fields = {bulk("version"), bulk("7")};
        for (std::size_t i = 0; i <= places; ++i) {  // two more than there is room for
            const Millis until = ends == Ends::shared && i < 2 ? soon : late;
            fields.push_back(bulk(write_field({"default", "k" + std::to_string(i)})));
            fields.push_back(
                bulk("1 ban 0 " + std::to_string(world.at()) + " " + std::to_string(until) + " x"));
        }
        reply = array(fields);
        const auto held = [&] { return table.read(world.at()).size(); };
        const auto wholes = [&] { return primary.commands("hgetall").size(); };
        world.pass(5'000);
        EXPECT_EQ(held(), places);
        EXPECT_EQ(wholes(), 1U);
        EXPECT_EQ(world.logged("2 of the overrides that machines share .* do not hold here"), 1U);
        world.pass(20'000);
        EXPECT_EQ(wholes(), 1U) << "there is no room yet";
        if (ends == Ends::own_by_operator) {
            world.worker().loop().turn([&] { EXPECT_TRUE(table.remove(own.subject, now_millis())); });
        }
        world.pass(10'000);
        EXPECT_EQ(held(), places) << "as many as there is room for";
        EXPECT_LE(wholes(), 3U);
        EXPECT_EQ(world.logged("do not hold here"), ends == Ends::shared ? 1U : 2U);
        EXPECT_EQ(world.logged("1 of the overrides that machines share .* do not hold here"),
                  ends == Ends::shared ? 0U : 1U);
        const std::size_t read = wholes();
        world.pass(10'000);
        EXPECT_EQ(wholes(), read) << "nothing has changed";
        EXPECT_TRUE(world.stop_all());
    }
}

/// An operator does this at a worker: a ban, `allow`, or the end of it.
class Act final : private Answer::Owner {
public:
    Act(WorkerProcess& worker, const std::string& key, OverrideKind kind) {
        worker.loop().turn([&] {
            const StoreConf& store = *configuration_at_work()->stores.front();
            Override what;
            what.subject = {limit_digest(store.name, "default"),
                            client_id(*store.zone, store.name, "default", key)};
            what.kind = kind;
            what.from = now_millis();
            what.until = what.from + 3'600'000;
            EXPECT_TRUE(change_.start(store, what, write_field({"default", key}), *this));
        });
    }

    bool over() const noexcept { return ended_; }
    SharedChange::Trouble trouble() const noexcept { return change_.trouble(); }
    bool done() const noexcept { return over() && trouble() == SharedChange::Trouble::none; }

    /// The reason that the operator is given; empty: it is done.
    std::string reason() const { return reason_ != nullptr ? reason_ : ""; }

private:
    void on_answer(Answer& answer) noexcept override {
        ended_ = true;
        reason_ = answer.failure();
    }

    bool ended_ = false;
    const char* reason_ = nullptr;
    SharedChange change_;
};

/// More than a tree takes, in fields of any size: each version is read once, and told.
TEST(SharedOverrides, AreToldWhereNoTreeTakesThem) {
    struct Fields {
        std::size_t count;
        std::size_t bytes;
    };
    for (const Fields fields : {Fields{20, 900'000}, Fields{1, 17 << 20}, Fields{250'000, 1}}) {
        SCOPED_TRACE(std::to_string(fields.count) + " fields of " + std::to_string(fields.bytes) + " bytes");
        Scenario world({"default", "1000r/h"}, 9'000);
        world.setup.stores.front().shares_overrides = true;
        std::vector<std::string> words = {bulk("version"), bulk("7")};
        for (std::size_t i = 0; i < fields.count; ++i) {
            words.push_back(bulk("default/:" + std::to_string(i) + std::string(fields.bytes, 'x')));
            words.push_back(bulk("1 ban 0 1 9 ann"));
        }
        const std::string whole = array(words);
        std::string version = "7";
        Scripted primary(world.events, world.network, Scenario::primary_address,
                         [&](const Command& command, ScriptedClient& client) -> ScriptedReply {
                             if (command[0] != "hgetall") {
                                 return command[0] == "hmget" ? array({bulk(version)}) : fallback(command);
                             }
                             for (std::size_t at = 0; at < whole.size(); at += 1 << 20) {
                                 client.send(whole.substr(at, 1 << 20));
                             }
                             return "";
                         });
        const auto reads = [&primary] { return primary.commands("hgetall").size(); };
        world.worker();
        world.pass(10'000);
        EXPECT_EQ(reads(), 1U);
        EXPECT_EQ(world.logged("are above 512 KB: .*; none can be set until you delete that key"), 1U);
        version = "8";
        world.pass(10'000);
        EXPECT_EQ(reads(), 2U) << "it may be smaller";
        EXPECT_EQ(world.logged("."), 1U);
        if (fields.count == 1) {
            Act ban(world.worker(), "client", OverrideKind::ban);
            ASSERT_TRUE(world.until([&ban] { return ban.over(); }));
            EXPECT_EQ(ban.trouble(), SharedChange::Trouble::unavailable) << "as the line says";
            EXPECT_EQ(ban.reason(),
                      "they are above 16 MB or 250,000 fields: delete the key that error.log names");
        }
    }
}

/// What a failover brings back is told anew.
TEST(SharedOverrides, AreToldEachTimeThatTheyAreGarbage) {
    Scenario world({"default", "1000r/h"}, 9'000);
    world.setup.stores.front().shares_overrides = true;
    bool is_bad = false;
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         const std::string version = bulk(is_bad ? "8" : "7");
                         return words[0] == "hmget"     ? array({version})
                                : words[0] != "hgetall" ? ScriptedReply(fallback(words))
                                : is_bad ? array({bulk("version"), version, bulk("default/:a"), bulk("no")})
                                         : array({bulk("version"), version});
                     });
    world.worker();
    for (std::size_t time = 1; time <= 3; ++time) {
        is_bad = false;
        world.pass(20'000);
        is_bad = true;
        world.pass(20'000);
        EXPECT_EQ(world.logged("are not what this module writes"), time);
        EXPECT_LE(primary.commands("hgetall").size(), 1 + time);
    }
}

/// Connections lead to two servers in turn, and what one of them has cannot be taken, or never comes.
TEST(SharedOverrides, AreToldOnceWhereEveryOtherLookIsBad) {
    for (const bool comes : {true, false}) {
        SCOPED_TRACE(comes);
        Scenario world({"default", "1000r/h"}, 1'000);
        world.setup.stores.front().shares_overrides = true;
        std::size_t looks = 0;
        Scripted primary(world.events, world.network, Scenario::primary_address,
                         [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                             const bool is_bad = looks > 3 && looks % 2 == 0;
                             if (words[0] == "hmget" && words[1] == "rl:!overrides") {
                                 ++looks;
                                 return array({bulk(looks > 3 && looks % 2 == 0 ? "8" : "7")});
                             }
                             return words[0] != "hgetall" ? ScriptedReply(fallback(words))
                                    : !is_bad             ? ScriptedReply(array({bulk("version"), bulk("7")}))
                                    : comes               ? ScriptedReply(array({bulk("version"), bulk("8"),
                                                                                 bulk("default/:a"), bulk("no")}))
                                                          : hold("whole", "");
                         });
        world.worker();
        world.pass(150'000);
        EXPECT_GE(looks, 100U);
        EXPECT_EQ(primary.commands("hgetall").size(), comes ? 2U : 4U);
        EXPECT_EQ(world.logged("the overrides at"), 1U);
    }
}

/// The line to the server is slow, and becomes well again.
TEST(SharedOverrides, AreReadNowAndThenWhereTheyDoNotComeInTime) {
    Scenario world({"default", "1000r/h"}, 1'000);
    world.setup.stores.front().shares_overrides = true;
    bool is_slow = true;
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         if (words[0] == "hmget" && words[1] == "rl:!overrides") {
                             return array({bulk("7")});
                         }
                         return words[0] != "hgetall" ? ScriptedReply(fallback(words))
                                : is_slow             ? hold("whole", "")
                                          : array({bulk("version"), bulk("7"), bulk("default/:client"),
                                                   bulk("1 ban 0 1 9000000000000 ann")});
                     });
    const auto reads = [&primary] { return primary.commands("hgetall").size(); };
    world.worker();
    world.pass(60'000);
    EXPECT_EQ(reads(), 3U);
    world.pass(600'000);
    EXPECT_EQ(reads(), 5U);
    EXPECT_EQ(world.logged("are not read, as they did not come within charge_timeout in three tries: .*; "
                           "delete that key in Redis, or mend the line to its server"),
              1U);
    EXPECT_EQ(world.logged("the overrides at"), 1U);
    is_slow = false;
    world.pass(300'000);
    EXPECT_EQ(reads(), 6U);
    EXPECT_EQ(world.worker().zone().overrides().read(world.at()).size(), 1U);
}

/// The key's pattern is `%R~`: what there is can be read. The operator is told what is lacking, and so is the
/// log.
TEST(SharedOverrides, AreNotChangedWhereTheUserMayOnlyReadThem) {
    for (const char* refusal : {"ERR ACL failure in script: No permissions to access a key",
                                "NOPERM No permissions to access a key"}) {
        SCOPED_TRACE(refusal);
        Scenario world({"default", "1000r/h"});
        world.setup.stores.front().shares_overrides = true;
        Scripted primary(world.events, world.network, Scenario::primary_address,
                         [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                             return words[0] == "hgetall" ? array({bulk("version"), bulk("7")})
                                    : words[0] == "hmget" ? array({bulk("7")})
                                    : is_write(words)     ? ScriptedReply(error(refusal))
                                                          : fallback(words);
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
TEST(SharedOverrides, AreInDoubtWhereAFormerPrimaryAnswers) {
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
TEST(SharedOverrides, ThatAreReadLateEndNothingHoweverLateThatIs) {
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
}  // namespace rate_limit::world::shared_overrides_test
