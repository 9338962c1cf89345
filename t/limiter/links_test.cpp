// The promises of a link about bytes, on which the limiter counts.

#include <string>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::links_test {
namespace {

const std::string key = "rl:default/3600:client";

TEST(Bytes, MayComeOneByOne) {
    OneMachine world({"default", "5r/h", "charge_refund"});
    world.primary.link().piece = 1;
    for (int i = 0; i < 7; ++i) {
        EXPECT_EQ(world.admits("client", 20), i < 5);
    }
    EXPECT_EQ(world.primary.used(key), 5);
}

TEST(Jitter, DoesNotChangeTheOrderOfBytes) {
    OneMachine world({"default", "50r/h", "charge_refund"});
    world.primary.link().jitter_there = 100;
    world.primary.link().jitter_back = 20;
    world.primary.link().piece = 7;
    int admitted = 0;
    for (int i = 0; i < 100; ++i) {
        admitted += world.admits("client", 50) ? 1 : 0;
    }
    EXPECT_EQ(admitted, 50);
    EXPECT_EQ(world.primary.used(key), 50);
}

/// In whichever byte of a command or reply the connection ends: no more is admitted or stored than the limit,
/// and no less is stored than was admitted.
TEST(AReset, MayFallIntoAnyByte) {
    for (std::uint64_t byte = 0; byte < 400; ++byte) {
        OneMachine world({"default", "5r/h", "charge_refund"});
        world.setup.on_error = OnError::deny;
        ASSERT_TRUE(world.admits("client"));
        world.primary.reset_connections_within(byte);
        int admitted = 1;
        for (int i = 0; i < 8; ++i) {
            admitted += world.admits("client", 300) ? 1 : 0;
        }
        world.pass(10'000);
        EXPECT_LE(admitted, 5) << byte;
        EXPECT_LE(world.primary.used(key), 5) << byte;
        EXPECT_GE(world.primary.used(key), admitted) << byte;
    }
}

TEST(AHalfOpenConnection, IsLeftWhenNothingComesBack) {
    OneMachine world({"default", "5r/h", "charge_refund"});
    ASSERT_TRUE(world.admits("client"));
    world.primary.link().silent_back = true;
    EXPECT_TRUE(world.admits("client", 200));  // by rate_limit_on_error
    world.pass(6'000);
    world.primary.link().silent_back = false;
    world.pass(6'000);
    int admitted = 0;
    for (int i = 0; i < 6; ++i) {
        admitted += world.admits("client") ? 1 : 0;
    }
    EXPECT_LE(admitted, 4);
    EXPECT_GE(admitted, 3);
}

TEST(AMachineThatVanished, IsFoundAgainByWhatIsSentToIt) {
    OneMachine world({"default", "5r/h", "charge_refund"});
    ASSERT_TRUE(world.admits("client"));
    world.primary.link().silent = true;
    world.primary.vanish();
    EXPECT_TRUE(world.admits("client", 200));  // by rate_limit_on_error
    world.primary.link().silent = false;
    world.primary.start();
    world.pass(6'000);
    int admitted = 0;
    for (int i = 0; i < 6; ++i) {
        admitted += world.admits("client") ? 1 : 0;
    }
    EXPECT_EQ(world.primary.used(key), 5);
    EXPECT_GE(admitted, 3);
}

}  // namespace
}  // namespace rate_limit::world::links_test
