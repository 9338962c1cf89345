// Servers that are found elsewhere, or not by every machine: a name that leads to another address, and a
// network in two parts.

#include <string>

#include "t/limiter/scenario.h"

namespace rate_limit::world::moved_servers_test {
namespace {

const std::string other_address = "10.0.0.9:6379";

/// A primary that the configuration calls by the name of its host.
class NamedPrimary : public testing::Test {
protected:
    NamedPrimary() {
        world.network.lead("db", "10.0.0.1");
        world.setup.stores.front().shards = {{"a", "db:6379"}};
        world.setup.on_error = OnError::deny;
    }

    void move() {
        world.network.move(Scenario::primary_address, other_address);
        primary.reset_connections();
    }

    bool passes_within(Msec time) {
        return world.until([this] { return world.ask("k") == "PASSED"; }, time);
    }

    Scenario world{{"default", "1000r/h", "charge_refund"}};
    Redis primary{world.events, world.network, Scenario::primary_address};
};

TEST_F(NamedPrimary, IsFoundWhereItsNameLeads) {
    EXPECT_EQ(world.ask("k"), "PASSED");
    move();
    world.network.lead("db", "10.0.0.9");
    EXPECT_TRUE(passes_within(5'000));
    EXPECT_EQ(primary.used(stored_key("k")), 2);
}

TEST_F(NamedPrimary, IsFoundOnceItsNameLeadsThere) {
    EXPECT_EQ(world.ask("k"), "PASSED");
    move();
    EXPECT_FALSE(passes_within(3'000));
    world.network.lead("db", "10.0.0.9");
    EXPECT_TRUE(passes_within(20'000)) << "two pauses between tries";
}

/// One of two machines does not reach the primary, and nobody is told. The other one goes on.
TEST(AMachineThatIsParted, IsAlone) {
    Scenario world({"default", "1000r/h", "charge_refund"});
    world.setup.on_error = OnError::deny;
    Redis primary(world.events, world.network, Scenario::primary_address);
    WorkerProcess& parted = world.worker(0, 0);
    WorkerProcess& other = world.worker(0, 1);
    EXPECT_EQ(world.ask("k", &parted), "PASSED");
    EXPECT_EQ(world.ask("k", &other), "PASSED");
    world.network.path(0, Scenario::primary_address).parted = true;
    EXPECT_NE(world.ask("k", &parted), "PASSED");
    EXPECT_EQ(world.ask("k", &other), "PASSED");
    EXPECT_EQ(primary.used(stored_key("k")), 3);
    world.network.path(0, Scenario::primary_address).parted = false;
    EXPECT_TRUE(world.until([&] { return world.ask("k", &parted) == "PASSED"; }, 5'000));
}

}  // namespace
}  // namespace rate_limit::world::moved_servers_test
