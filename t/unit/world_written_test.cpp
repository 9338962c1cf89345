#include <gtest/gtest.h>

#include "t/unit/world_client.h"
#include "t/world/written.h"

namespace rate_limit::world::world_written_test {
namespace {

/// A server, and what each of its writes has changed.
class WorldWritten : public ::testing::Test {
protected:
    WorldWritten() {
        server.server.on_write(
            [this](const Effect& effect) { written.push_back(ledger.take(server.server, effect)); });
    }

    std::int64_t last() const { return written.back().more; }

    ServerAt server;
    TestClient client{server.server};
    Ledger ledger;
    std::vector<Written> written;
};

TEST_F(WorldWritten, TellsWhatAWindowWasCharged) {
    const std::string reset = std::to_string(server.now / 1000 + 60'000);
    client("HSET k used 3 reset " + reset);
    EXPECT_EQ(written.back().key, "k");
    EXPECT_EQ(last(), 3);
    client("HINCRBY k used 4");
    EXPECT_EQ(last(), 4);
    client("HINCRBY k used -2");
    EXPECT_EQ(last(), -2);
    client("DEL k");
    EXPECT_EQ(last(), -5);
}

TEST_F(WorldWritten, CountsNothingBackWhenAWindowEnds) {
    client("HSET k used 3 reset " + std::to_string(server.now / 1000 + 60'000));
    server.pass(60'001);
    client("DEL k");
    EXPECT_EQ(last(), 0);
    client("HSET k used 2 reset " + std::to_string(server.now / 1000 + 60'000));
    EXPECT_EQ(last(), 2);
}

TEST_F(WorldWritten, TellsHowManySlotsAllMachinesHold) {
    client.send({"HSET", "k", "a", "3 1700000001000 1"});
    EXPECT_EQ(last(), 3);
    client.send({"HSET", "k", "b", "2 1700000001000 1", "+", "5:1:2"});
    EXPECT_EQ(last(), 2);
    client.send({"HSET", "k", "a", "1 1700000001000 2"});
    EXPECT_EQ(last(), -2);
    client("HDEL k a");
    EXPECT_EQ(last(), -1);
}

TEST_F(WorldWritten, TellsByHowMuchTheVersionOfOverridesWasRaised) {
    client.send({"HSET", "k", "version", "100", "l/:a", "1 ban 0 1 2 x"});
    EXPECT_EQ(last(), 100);
    client.send({"HDEL", "k", "l/:a"});
    client.send({"HSET", "k", "version", "101"});
    EXPECT_EQ(last(), 1);
}

/// A bucket that is full in two seconds, one that is full in five, and one that has been full for long.
TEST_F(WorldWritten, TellsHowMuchOfABucketWasTaken) {
    const auto bucket = [this](std::int64_t full_in) {
        std::string bytes;
        const std::uint64_t full_at =
            (std::uint64_t{1} << 63U) | static_cast<std::uint64_t>(server.now * 1000 + full_in);
        for (int shift = 56; shift >= 0; shift -= 8) {
            bytes += static_cast<char>(full_at >> static_cast<unsigned>(shift) & 0xffU);
        }
        client.send({"SET", "k", bytes + std::string(16, '\0')});
    };
    bucket(2'000'000'000);
    EXPECT_EQ(last(), 2'000'000'000);
    bucket(5'000'000'000);
    EXPECT_EQ(last(), 3'000'000'000);
    bucket(-7'000'000'000);
    EXPECT_EQ(last(), -5'000'000'000);
}

TEST(WorldLostWrites, AreSummedByKey) {
    LostWrites lost;
    lost.add({"rl:a:client1", 3});
    lost.add({"rl:a:client1", -1});
    lost.add({"rl:a:client1", 2});
    lost.add({"rl:a:client11", 100});
    lost.add({"rl:b:client1", 100});
    EXPECT_EQ(lost.of("rl:a:", ":client1").taken, 5);
    EXPECT_EQ(lost.of("rl:a:", ":client1").given_back, 1);
    EXPECT_EQ(lost.of("rl:a:client11").taken, 100);
    EXPECT_EQ(lost.of("rl:a:", ":client2").taken, 0);
}

}  // namespace
}  // namespace rate_limit::world::world_written_test
