// A plain command takes the cost from a bucket, and no script, where a machine knows that it has room.
// Whatever has happened to the bucket meanwhile, no more passes than the bucket had, and no client is refused
// what it has.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "t/limiter/calls.h"
#include "t/limiter/one_machine.h"

namespace rate_limit::world::plain_commands_test {
namespace {

class PlainCommands : public testing::Test {
protected:
    PlainCommands() {
        for (std::size_t machine = 0; machine < 2; ++machine) {
            EXPECT_EQ(world.ask("first", &world.worker(0, machine)), "PASSED");
        }
        world.let_connections_age();
    }

    static std::string stored(const std::string& key) { return stored_key(key, "60b", "slow"); }

    std::int64_t taken(const std::string& key) {
        constexpr std::int64_t minute = 60'000'000'000;
        return (world.until_full(world.primary, stored(key)) + minute - 1) / minute;
    }

    Value& value(const std::string& key) {
        return world.primary.server().databases().front().make(stored(key));
    }

    /// Tokens missing, of a bucket that is stored so; less than none: it has been full for so long.
    void hold(const std::string& key, std::int64_t minutes) {
        std::string& text = std::get<std::string>(value(key).content);
        const auto instant = static_cast<std::uint64_t>((world.at() + minutes * 60'000) * 1'000'000);
        for (int i = 0; i < 8; ++i) {
            text[static_cast<std::size_t>(i)] =
                static_cast<char>((instant | std::uint64_t{1} << 63) >> (56 - 8 * i));
        }
    }

    std::string ask(const std::string& key, std::int64_t cost = 1, std::size_t machine = 0) {
        const std::string decided = world.ask({key, cost}, &world.worker(0, machine));
        world.pass(2);
        return decided;
    }

    void ask_and_give_back(const std::string& key, std::int64_t cost) {
        ClientRequest& request = world.begin({key, cost});
        world.pass(2);
        request.end(true);
        world.pass(2);
    }

    /// One request that a plain command asks for, after this was taken and done.
    std::string asks_plainly(
        const std::string& key, std::int64_t before, std::int64_t cost,
        const std::function<void()>& then = [] {}) {
        EXPECT_EQ(ask(key, before), "PASSED");
        then();
        const std::size_t commands = calls["bitfield"];
        std::string decided = ask(key, cost);
        EXPECT_EQ(calls["bitfield"], commands + 1);
        return decided + " " + std::to_string(taken(key));
    }

    OneMachine world{{"slow", "1r/m", "charge_refund", 100}};
    Calls calls{world.primary};
};

TEST_F(PlainCommands, TakeAllButTheLastTwentieth) {
    EXPECT_EQ(world.admitted(110, "k"), 100U);
    EXPECT_GE(calls["bitfield"], 60U);
    EXPECT_LE(calls["bitfield"], 95U);
    EXPECT_LE(calls["evalsha"], 50U);
    EXPECT_EQ(taken("k"), 100);
}

TEST_F(PlainCommands, AreKnownToOthersAndGivenBack) {
    const std::size_t scripts = calls["evalsha"];
    EXPECT_EQ(asks_plainly("k", 10, 5), "PASSED 15");
    EXPECT_EQ(calls["evalsha"], scripts + 1) << "the first request's";
    EXPECT_EQ(ask("k", 1, 1), "PASSED");
    EXPECT_EQ(ask("k", 0), "PASSED");
    EXPECT_EQ(taken("k"), 16);
    ask_and_give_back("k", 4);
    EXPECT_EQ(taken("k"), 16);
}

TEST_F(PlainCommands, TakeNothingInPartOfWhatOthersHaveTaken) {
    EXPECT_EQ(asks_plainly("k", 1, 6, [this] { EXPECT_EQ(ask("k", 95, 1), "PASSED"); }), "REJECTED 96");
    EXPECT_EQ(ask("k", 4, 1), "PASSED") << "the rest is there";
    const auto come_and_go = [this] {
        ask_and_give_back("back", 60);
        ask_and_give_back("back", 60);
        EXPECT_EQ(taken("back"), 1);
        EXPECT_EQ(ask("back", 95, 1), "PASSED");
    };
    EXPECT_EQ(asks_plainly("back", 1, 6, come_and_go), "REJECTED 96") << "though more was given back";
    EXPECT_EQ(asks_plainly("left", 1, 4, [this] { EXPECT_EQ(ask("left", 95, 1), "PASSED"); }), "PASSED 100");
    EXPECT_EQ(ask("left", 1, 1), "REJECTED");
}

TEST_F(PlainCommands, FindAFullBucketWhereTheKeyIsGoneOrGarbage) {
    EXPECT_EQ(asks_plainly("gone", 30, 7, [this] { world.remove(stored("gone")); }), "PASSED 7");
    EXPECT_GT(value("gone").expires, world.at(60'000));
    int number = 0;
    for (const std::string& garbage : {std::string("x"), std::string(16, 'y'),
                                       std::string(19, '9') + " 6000000000000", std::string(40, '\xff')}) {
        const std::string key = "garbage" + std::to_string(++number);
        EXPECT_EQ(asks_plainly(key, 30, 7, [&] { value(key) = {garbage, never}; }), "PASSED 7") << key;
        EXPECT_GT(value(key).expires, world.at(60'000)) << "it expires again";
    }
    EXPECT_EQ(asks_plainly("list", 30, 7,
                           [this] {
                               value("list") = {List{"another's"}, never};
                           }),
              "PASSED 7");
    EXPECT_EQ(asks_plainly("far", 1, 7, [this] { hold("far", 1'000'000); }), "REJECTED 100")
        << "the far future is an empty one";
}

TEST_F(PlainCommands, CountFromNowWhereTheBucketHasBeenFull) {
    EXPECT_EQ(asks_plainly("k", 50, 7, [this] { hold("k", -60); }), "PASSED 7");
    EXPECT_EQ(ask("k", 94, 1), "REJECTED") << "and not from then";
    EXPECT_EQ(ask("k", 93, 1), "PASSED") << "exactly";
}

/// Limits of several bursts, by turns on two machines.
TEST_F(PlainCommands, ShareABucketAsMuchAsTheGreatestHolds) {
    world.setup.limits = {{"slow", "1r/m", "charge_refund", 50}};
    std::vector<std::size_t> passed(3);
    for (std::size_t i = 0; i < 510; ++i) {
        world.setup.limits.front().burst = i % 3 == 0 ? 50 : i % 3 == 1 ? 200 : 100;
        world.reload(i % 2);
        WorkerProcess& newest = *world.machine(i % 2).workers().back();
        passed[i % 3] += world.ask("shared", &newest) == "PASSED" ? 1 : 0;
        world.end_leaving(i % 2);
    }
    EXPECT_EQ(passed[0] + passed[1] + passed[2], 200U);
    EXPECT_LE(passed[0], 50U) << "the least no more than it holds";
    EXPECT_LE(passed[0] * 2, passed[2] + 2) << "and as fast as the others";
}

}  // namespace
}  // namespace rate_limit::world::plain_commands_test
