// Overrides that machines share, as a worker takes them up.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/shared_overrides.h"

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
                         return serve_overrides(words, version);
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

/// A look's answer is out of date where the machine has taken up another version since it asked.
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
                         return serve_overrides(words, version);
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
        std::vector<std::string> fields;
        Scripted primary(
            world.events, world.network, Scenario::primary_address,
            [&](const Command& words, ScriptedClient&) { return serve_overrides(words, "7", fields); });
        const Millis soon = world.at() + 30'000;
        const Millis late = soon + 3'600'000;
        OverrideTable& table = world.worker().zone().overrides();
        Override own;
        own.subject = {2, 2};
        own.kind = OverrideKind::ban;
        own.until = ends == Ends::own ? soon : late;
        ASSERT_TRUE(table.put(own, world.at()));
        const std::size_t places = table.capacity();
        for (std::size_t i = 0; i <= places; ++i) {  // two more than there is room for
            const Millis until = ends == Ends::shared && i < 2 ? soon : late;
            fields.push_back(bulk(write_field({"default", "k" + std::to_string(i)})));
            fields.push_back(
                bulk("1 ban 0 " + std::to_string(world.at()) + " " + std::to_string(until) + " x"));
        }
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
                                 return serve_overrides(command, version);
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

/// Garbage that a failover brings back is logged anew.
TEST(SharedOverrides, AreToldEachTimeThatTheyAreGarbage) {
    Scenario world({"default", "1000r/h"}, 9'000);
    world.setup.stores.front().shares_overrides = true;
    bool is_bad = false;
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         return is_bad ? serve_overrides(words, "8", {bulk("default/:a"), bulk("no")})
                                       : serve_overrides(words, "7");
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
                             looks += words[0] == "hmget" ? 1 : 0;
                             if (looks <= 3 || looks % 2 != 0) {
                                 return serve_overrides(words, "7");
                             }
                             return comes || words[0] != "hgetall"
                                        ? serve_overrides(words, "8", {bulk("default/:a"), bulk("no")})
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
                         return is_slow && words[0] == "hgetall"
                                    ? hold("whole", "")
                                    : serve_overrides(
                                          words, "7",
                                          {bulk("default/:client"), bulk("1 ban 0 1 9000000000000 ann")});
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

}  // namespace
}  // namespace rate_limit::world::shared_overrides_test
