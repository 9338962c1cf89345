// A machine's memory of windows, and when it asks again; and the memory that its workers share.

#include <string>
#include <utility>
#include <vector>

#include "t/limiter/one_machine.h"
#include "t/unit/table_memory.h"

namespace rate_limit::world::zone_test {
namespace {

/// A window that the primary has confirmed is known on the whole machine at once, though its replica knows
/// nothing.
TEST(WindowsOfAMachine, AreThoseThatThePrimaryHasConfirmed) {
    OneMachine world({"default", "12r/h"});
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    world.setup.stores.front().fresh = 0;
    Scripted replica(world.events, world.network, Scenario::replica_address, reading({}, {}));
    world.worker(3);
    const std::string key = stored_key("k");
    Millis reset = 0;
    for (std::int64_t i = 0; i < 12; ++i) {
        ClientRequest& request = world.begin("k", &world.worker(static_cast<std::size_t>(i) % 4));
        world.pass(2);
        EXPECT_EQ(outcome(request), "PASSED");
        EXPECT_EQ(request.quota().used, i + 1);
        reset = i == 1 ? request.quota().reset : reset;
        EXPECT_TRUE(i == 0 || request.quota().reset == reset);
        request.end();
        world.pass(2);
    }
    EXPECT_GE(replica.commands("hmget").size(), 12U) << "the replica was asked until then";
    for (std::size_t i = 0; i < 12; ++i) {
        EXPECT_EQ(world.ask("k", &world.worker(i % 4)), "REJECTED");
    }
    EXPECT_EQ(world.primary.used(key), 12);
    EXPECT_EQ(reset_seconds(world.primary.window(key).reset), reset);
    replica.forget();
    EXPECT_EQ(world.ask("k"), "REJECTED");
    EXPECT_TRUE(replica.commands("hmget").empty()) << "it is not asked any more";
}

/// Another machine has charged the same window: its count comes with the next confirmation.
TEST(WindowsOfAMachine, HaveWhatOthersChargeWithTheNextConfirmation) {
    OneMachine world({"default", "12r/h"});
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    world.setup.stores.front().fresh = 0;
    Scripted replica(world.events, world.network, Scenario::replica_address, reading({}, {}));
    world.put_window(stored_key("k"), 5, world.at(1'000'000));
    ClientRequest& first = world.begin("k", &world.worker(1));
    world.pass(2);
    EXPECT_EQ(first.quota().used, 1) << "before the first charge nothing is known here";
    first.end();
    world.pass(2);
    const ClientRequest& next = world.begin("k", &world.worker(0));
    world.pass(2);
    EXPECT_EQ(next.quota().used, 7);
    EXPECT_EQ(next.quota().reset, world.at(1'000'000) / 1000 - (world.at() - Loop::usual_wall_clock) / 1000);
}

/// They do so as soon as the primary is asked again.
TEST(WindowsOfAMachine, FollowAnOperatorWhoDeletesOrLowersThem) {
    OneMachine world({"default", "5r/h"});
    world.worker(1);
    EXPECT_EQ(world.admitted(8, "k"), 5U);
    for (const std::int64_t used : {0, 2}) {
        world.pass(60'000);
        EXPECT_EQ(world.ask("k", &world.worker(1)), "REJECTED");
        Keyspace& keys = world.primary.server().databases().front();
        if (used == 0) {
            keys.erase(stored_key("k"));
        } else {
            std::get<Hash>(keys.find(stored_key("k"))->content).set("used", std::to_string(used));
        }
        EXPECT_TRUE(world.until([&] { return world.ask("k") == "PASSED"; }, 10'000));
        world.pass(10);
        EXPECT_EQ(world.primary.used(stored_key("k")), used + 1) << "it goes on from there";
        EXPECT_EQ(world.admitted(8, "k"), static_cast<std::size_t>(4 - used));
        world.pass(10);
        EXPECT_EQ(world.primary.used(stored_key("k")), 5);
    }
}

/// A window that was used up stays used up, though another replica be behind.
TEST(WindowsOfAMachine, DoNotGoBackByTheLateAnswerToACharge) {
    Scenario world({"default", "10r/h"}, 20'000);
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    const Millis reset = world.at(3'000'000);
    std::int64_t used = 4;
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         if (words[0] == "hincrby") {
                             return hold("charge", integer(5));
                         }
                         return is_write(words) ? hold("charge", integers({5, reset})) : fallback(words);
                     });
    Scripted replica(world.events, world.network, Scenario::replica_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         return words[0] == "hmget" ? hmget(used, reset) : fallback(words);
                     });
    const auto get = [&] {
        ClientRequest& request = world.begin("k");
        world.pass(2);
        std::string said = outcome(request) + " " + std::to_string(request.quota().used);
        if (request.is_admitted()) {
            request.end();
        }
        world.pass(2);
        return said;
    };
    EXPECT_EQ(get(), "PASSED 5");
    EXPECT_EQ(primary.writes().size(), 1U);
    used = 10;
    EXPECT_EQ(get(), "REJECTED 10") << "others have used the rest, says a replica";
    primary.release("charge");
    used = 6;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(get(), "REJECTED 10");
    }
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(primary.writes().size(), 1U);
}

/// Two workers, and three requests a second of a client at its limit.
class ClientsAtTheirLimit : public testing::Test {
protected:
    ClientsAtTheirLimit() { world.worker(1); }

    /// In which seconds the primary was asked, and a request passed.
    std::vector<int> asked;
    std::vector<int> passed;

    void pass_seconds(int count) {
        asked.clear();
        passed.clear();
        for (int i = 0; i < count; ++i) {
            primary.forget();
            ++second;
            for (std::size_t n = 0; n < 3; ++n) {
                if (world.ask("k", &world.worker(n % 2)) == "PASSED") {
                    passed.push_back(second);
                    world.pass(2);
                    used = 5;
                    break;
                }
            }
            for (std::size_t n = 0; n < primary.commands("hmget").size(); ++n) {
                asked.push_back(second);
            }
            world.pass(static_cast<Msec>((second + 1) * 1'000 - (world.at() - Loop::usual_wall_clock)));
        }
    }

    Scenario world{{"default", "5r/h"}};
    std::int64_t used = 5;
    int second = 0;
    Millis reset = world.at(3'000'000);
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     [this](const Command& words, ScriptedClient&) -> ScriptedReply {
                         if (words[0] == "hmget") {
                             return hmget(used, reset);
                         }
                         if (words[0] == "hincrby") {
                             return integer(used + 1);
                         }
                         return is_write(words) ? integers({used + 1, reset}) : fallback(words);
                     }};
};

TEST_F(ClientsAtTheirLimit, AreAskedAboutMoreAndMoreRarely) {
    pass_seconds(58);
    EXPECT_EQ(passed, std::vector<int>{});
    EXPECT_EQ(asked, (std::vector<int>{1, 2, 4, 8, 16, 26, 36, 46, 56}));
}

TEST_F(ClientsAtTheirLimit, AreAskedAboutOftenAgainAfterAnotherAnswer) {
    pass_seconds(58);
    used = 4;
    pass_seconds(7);
    EXPECT_EQ(passed, std::vector<int>{}) << "a lowered count is not heard at once";
    EXPECT_EQ(asked, std::vector<int>{});
    pass_seconds(1);
    EXPECT_EQ(passed, std::vector<int>{66}) << "but ten seconds after the last question; one request passes";
    EXPECT_EQ(asked, std::vector<int>{66});
    pass_seconds(17);
    EXPECT_EQ(passed, std::vector<int>{});
    EXPECT_EQ(asked, (std::vector<int>{68, 70, 74, 82}));
}

/// Up to three quarters of what the zone holds they cost nobody a count; far above that they still push out
/// each other, not clients that are at a limit or have used more of one.
TEST(KeysThatAreThrownAway, FreeNobodyFromALimit) {
    const std::vector<std::string> modes = {"check_charge", "charge_refund"};
    Scenario world({modes[0], "10r/h", modes[0]});
    world.setup.limits.push_back({modes[1], "10r/h", modes[1]});
    world.setup.limits[0].store = world.setup.limits[1].store = "local";
    // The use after that, as it is told; 0: it is rejected.
    const auto ask = [&world](const std::string& mode, const std::string& key, std::int64_t cost = 1) {
        ClientRequest request(world.worker(), RequestSetup(key, cost).under({mode}));
        request.begin();
        request.is_admitted() ? request.end() : (void)0;
        return request.is_admitted() ? request.quota().used : 0;
    };
    const auto throw_away = [&ask](const std::string& mode, std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
            ASSERT_EQ(ask(mode, "away " + std::to_string(i)), 1);
        }
    };
    // Clients have used 1 to 10. Those that have used at least so many are as before.
    const auto expect_all = [&ask](const std::string& mode, int least) {
        for (int i = least - 1; i < 200; i = i % 10 == 9 ? i + least : i + 1) {
            const int used = 1 + i % 10;
            EXPECT_EQ(ask(mode, "live " + std::to_string(i), used / 10), used % 10) << mode;
        }
    };
    for (int i = 0; i < 200; ++i) {
        for (int used = 1; used <= 1 + i % 10; ++used) {
            EXPECT_EQ(ask(modes[0], "live " + std::to_string(i)), used);
            EXPECT_EQ(ask(modes[1], "live " + std::to_string(i)), used);
        }
    }
    const std::size_t room = world.worker().zone().windows().capacity();
    const std::size_t quarters = room * 3 / 8 - 201;  // for each of two limits
    throw_away(modes[0], 0, quarters);
    throw_away(modes[1], 0, quarters);
    for (const std::string& mode : modes) {
        expect_all(mode, 1);
        for (std::size_t i = 0; i < quarters; i += 20) {
            EXPECT_EQ(ask(mode, "away " + std::to_string(i), 0), 1) << "their own counts, too";
        }
    }
    throw_away(modes[0], quarters, quarters + 2 * room);
    expect_all(modes[0], 2);
    expect_all(modes[1], 2);
    EXPECT_EQ(world.logged("no room"), 0U);
}

Zone::Made made(std::size_t workers) {
    return {Zone::least_size, workers, table_key, 7};
}

/// A later configuration may have another number of workers: the memory stays as it was laid out.
TEST(MemoryOfAMachine, IsTakenUpAsItWasLaidOut) {
    OneMachine world({"default", "12r/h"});
    TableMemory memory(Zone::least_size);
    world.worker().loop().turn([&] {
        Zone first;
        ASSERT_TRUE(first.create(memory.at(), memory.size(), made(2)));
        Override what;
        what.subject = {5, 0};
        what.until = now_millis() + 1000;
        ASSERT_TRUE(first.overrides().put(what, now_millis()));
        Zone next;
        ASSERT_TRUE(next.adopt(first));
        EXPECT_TRUE(next.shares_memory(first));
        EXPECT_EQ(next.since(), first.since());
        EXPECT_EQ(next.machine(), 7U);
        EXPECT_EQ(next.size(), Zone::least_size);
        EXPECT_EQ(next.overrides().read(now_millis()).size(), 1U);
        EXPECT_EQ(next.counters().groups(), first.counters().groups());
        EXPECT_EQ(next.windows().capacity(), first.windows().capacity());
        std::size_t parts = 0;
        for (const auto& part : next.parts()) {
            parts += part.bytes;
        }
        EXPECT_EQ(parts, Zone::least_size);
        static_cast<std::uint64_t*>(memory.at())[0] ^= 1;
        EXPECT_FALSE(Zone().adopt(first)) << "another version has laid it out";
    });
}

/// To the last byte: the memory ends there.
TEST(MemoryOfAMachine, EndsWithItsLastPart) {
    OneMachine world({"default", "12r/h"});
    for (const std::size_t size : {Zone::least_size, Zone::least_size + 4096, Zone::default_size}) {
        for (const std::size_t workers : {std::size_t{1}, std::size_t{64}}) {
            TableMemory memory(size);
            world.worker().loop().turn([&, size = size, workers = workers] {
                Zone zone;
                ASSERT_TRUE(zone.create(memory.at(), size, made(workers)));
                std::size_t updated = 0;
                for (std::uint64_t i = 0; i < 2 * zone.windows().capacity(); ++i) {
                    updated += zone.windows().update(zone.windows().id_of(std::to_string(i)), 1,
                                                     [](WindowRecord& record) { record.reset = 2; })
                                   ? 1
                                   : 0;
                }
                EXPECT_GT(updated, 0U);
            });
        }
    }
}

}  // namespace
}  // namespace rate_limit::world::zone_test
