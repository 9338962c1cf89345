// Charges that wait for a primary wait in the memory that all workers share, beside what waits for other
// shards; what finds no room there is dropped, counted and told.

#include <string>
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
