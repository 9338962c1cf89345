// Charges that wait for a primary wait in the memory that all workers share, beside what waits for other
// shards; what finds no room there is dropped, counted and told.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/table/table.h"
#include "limiter/charges/losses.h"
#include "limiter/zone.h"
#include "t/limiter/one_machine.h"

namespace rate_limit::world::full_backlog_test {
namespace {

/// How many records wait for a primary.
std::size_t waiting(Scenario& world) {
    std::size_t count = 0;
    world.machine().zone().debts().for_each(
        [&count](const DebtRecord& debt) { count += waits(debt.kind) ? 1 : 0; });
    return count;
}

/// The primary is known, and away; then charges of so many windows come, more than have room.
void fill(OneMachine& world, int windows) {
    EXPECT_EQ(world.ask("warm"), "PASSED");
    world.pass(100);
    world.primary.kill(true);
    world.pass(200);
    for (int i = 0; i < windows; ++i) {
        EXPECT_EQ(world.admitted(1, RequestSetup("k" + std::to_string(i)).or_else(OnError::allow)), 1U);
    }
}

TEST(AFullBacklog, DropsChargesAndTellsThem) {
    constexpr int windows = 2'000;
    OneMachine world({"default", "1000r/h"});
    world.setup.zone_size = std::size_t{256} << 10;
    fill(world, windows);
    world.pass(1'100);
    const std::size_t kept = waiting(world);
    EXPECT_GT(kept, 50U);
    EXPECT_LT(kept, 1'000U);
    EXPECT_EQ(counted(world, Loss::no_room), windows - kept);
    EXPECT_EQ(world.logged("charges for primary .* were dropped: no room in \"rate_limit_zone\""), 1U + 1U)
        << "one at once, and what came within a second of it";
    world.primary.start();
    world.pass(30'000);
    EXPECT_EQ(waiting(world), 0U);
    std::size_t stored = 0;
    for (int i = 0; i < windows; ++i) {
        stored += static_cast<std::size_t>(world.primary.used(stored_key("k" + std::to_string(i))));
    }
    EXPECT_EQ(stored, kept) << "each once";
    EXPECT_EQ(world.admitted(1, "k0"), 1U);
    EXPECT_TRUE(world.stop_all());
}

TEST(AFullBacklog, DropsRefundsAndTellsThemAsWhatTheyAre) {
    OneMachine world({"default", "1000r/h"});
    world.setup.limits.push_back({"refunded", "10r/h", "charge_refund"});
    world.setup.zone_size = std::size_t{256} << 10;
    std::vector<ClientRequest*> late;
    for (int i = 0; i < 5; ++i) {
        late.push_back(&world.begin(RequestSetup("late" + std::to_string(i)).under({"refunded"})));
    }
    world.pass(100);
    fill(world, 2'000);
    const std::uint64_t before = counted(world, Loss::no_room);
    for (ClientRequest* const request : late) {
        EXPECT_TRUE(request->is_admitted());
        request->end(true);
    }
    world.pass(1'100);
    EXPECT_GT(counted(world, Loss::refunds_no_room), 0U);
    EXPECT_EQ(counted(world, Loss::no_room), before) << "and no charge";
    EXPECT_GT(world.logged("refunds for primary .* were dropped: no room in \"rate_limit_zone\""), 0U);
}

/// Charges that wait for a primary are found beside those that wait for another one that stays away, also
/// where there is more to look through than one turn does.
TEST(TheBacklog, IsFoundBesideWhatWaitsForAnotherPrimary) {
    for (const std::size_t megabytes : {8, 64}) {
        OneMachine world({"n", "9r/h"});
        world.setup.zone_size = megabytes << 20;
        world.setup.stores.push_back(Scenario::store_at("10.0.0.9:6379", 0, "away"));
        world.setup.limits.push_back({"of_away", "9r/h", "check_charge", 0, "away"});
        world.primary.kill(true);
        for (const auto& [limit, count] : {std::pair("of_away", 3'000), std::pair("n", 700)}) {
            for (int i = 0; i < count; ++i) {
                EXPECT_EQ(world.ask(RequestSetup(std::to_string(i)).under({limit})), "ERROR_ALLOWED");
            }
        }
        world.primary.start();
        EXPECT_TRUE(world.until([&world] { return waiting(world) == 3'000; })) << "the others still wait";
        for (int i = 0; i < 700; ++i) {
            EXPECT_EQ(world.primary.used(stored_key(std::to_string(i), "3600", "n")), 1)
                << "each is charged once";
        }
        world.pass(5'000);
        EXPECT_EQ(waiting(world), 3'000U);
    }
}

/// Charges of many windows that have closed are given up some at a time, not in one turn, and all are told.
TEST(TheBacklog, GivesUpClosedWindowsInSlices) {
    constexpr std::uint64_t windows = 5'000;
    OneMachine world({"default", "99r/6s"});
    world.setup.zone_size = Zone::default_size;
    world.primary.kill(true);
    for (std::uint64_t i = 0; i < windows; ++i) {
        EXPECT_EQ(world.ask(std::to_string(i)), "ERROR_ALLOWED");
    }
    world.pass(7'000);
    world.primary.start();
    std::uint64_t most = 0;
    std::uint64_t before = 0;
    EXPECT_TRUE(world.until([&] {
        const std::uint64_t now = counted(world, Write::charges_expired);
        most = std::max(most, now - std::exchange(before, now));
        return now == windows;
    })) << before;
    EXPECT_LE(most, 1'000U) << "of a millisecond";
    world.pass(1'100);
    EXPECT_EQ(world.logged("expired: their windows had closed, .*\\(5000 expired so far\\)"), 1U);
    EXPECT_EQ(world.primary.server().databases().front().names().size(), 0U) << "nothing is charged";
}

/// A reload moves a shard to another primary, and a worker of before stays. What waits reaches the new one,
/// also charges of that worker, and the old one gets none of them when it is back.
TEST(TheBacklog, FollowsItsShardToAnotherPrimary) {
    OneMachine world({"default", "100r/h"});
    Redis next(world.events, world.network, "10.0.0.9:6379");
    ClientRequest& first = world.begin("first");
    ClientRequest& second = world.begin("second");
    world.pass(100);
    next.kill(true);
    world.setup.stores = {Scenario::store_at(next.address())};
    world.reload();
    EXPECT_EQ(world.admitted(5, "a"), 5U) << "the new primary is away";
    world.primary.kill(true);
    world.pass(10);
    first.end();
    EXPECT_TRUE(world.until([&world] { return world.logged("primary 10.0.0.1:6379 .* is down") == 1; }));
    world.primary.start();
    EXPECT_TRUE(world.until([&world] { return world.logged("primary 10.0.0.1:6379 .* is up again") == 1; }));
    second.end();
    EXPECT_TRUE(world.until([&world] { return world.end_leaving() == 0; }));
    const auto stored = [](Redis& server) {
        std::vector<std::int64_t> all;
        for (const char* key : {"a", "first", "second"}) {
            all.push_back(server.used(stored_key(key)));
        }
        return all;
    };
    EXPECT_EQ(stored(world.primary), (std::vector<std::int64_t>{0, 0, 1})) << "what came after its outage";
    next.start();
    EXPECT_TRUE(world.until([&] { return stored(next) == std::vector<std::int64_t>{5, 1, 0}; }));
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(stored(next), (std::vector<std::int64_t>{5, 1, 0}));
}

/// A reload gives the shard another name, and another one its first name again. Charges of one window wait
/// for both names, and none is in the way of the other.
TEST(TheBacklog, KeepsWhatWaitsForARenamedShardBesideWhatWaitsForTheNewOne) {
    OneMachine world({"default", "10r/h"});
    EXPECT_EQ(world.ask("k"), "PASSED");
    world.pass(100);
    world.primary.kill(true);
    world.pass(200);
    EXPECT_EQ(world.admitted(1, "k"), 1U);
    world.setup.stores.front().shards.front().name = "b";
    world.reload();
    EXPECT_TRUE(world.until([&world] { return world.end_leaving() == 0; }));
    EXPECT_EQ(world.admitted(2, "k"), 2U);
    EXPECT_TRUE(world.until([&world] { return waiting(world) == 2; }));
    world.primary.start();
    EXPECT_TRUE(world.until([&world] { return world.primary.used(stored_key("k")) == 3; }));
    world.pass(10'000);
    EXPECT_EQ(waiting(world), 1U) << "of a shard that is not configured any more";
    world.setup.stores.front().shards.front().name = "a";
    world.reload();
    EXPECT_TRUE(world.until([&world] { return world.primary.used(stored_key("k")) == 4; }));
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("lost"), 0U);
}

}  // namespace
}  // namespace rate_limit::world::full_backlog_test
