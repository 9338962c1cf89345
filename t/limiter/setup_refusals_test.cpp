#include <functional>
#include <string>

#include "t/limiter/scenario.h"
#include "t/world/refusal.h"

// A world whose setup makes no sense does not begin, and says what is wrong.

namespace rate_limit::world {
namespace {

/// One change of a setup that makes sense, and words of the refusal.
struct Nonsense {
    std::function<void(Setup&)> change;
    std::string words;
};

/// The store `main` has a shard, `sentinels` a master that two sentinels know, and `cluster` two seeds.
Setup sensible() {
    Setup setup;
    setup.stores = {{"main", {{"a", "10.0.0.1:6379", {"10.0.0.2:6379"}}}},
                    {"sentinels", {{"a", "", {}, "m"}}, {"10.0.1.1:26379", "10.0.1.2:26379"}},
                    {"cluster", {}, {}, {"10.0.2.1:6379", "10.0.2.2:6379"}}};
    setup.limits = {{"default", "5r/m"}, {"bucket", "5r/s", "charge_refund", 10}};
    return setup;
}

void expect_refusals(const std::vector<Nonsense>& cases) {
    for (const Nonsense& each : cases) {
        Scenario world({"default", "5r/m"});
        world.setup = sensible();
        each.change(world.setup);
        const std::string said = refusal([&world] { world.worker(); });
        EXPECT_NE(said.find(each.words), std::string::npos) << "said: " << said << "\nwanted: " << each.words;
    }
}

StoreSetup& store(Setup& setup, std::size_t number = 0) {
    return setup.stores[number];
}

LimitSetup& limit(Setup& setup, std::size_t number = 0) {
    return setup.limits[number];
}

TEST(SetupRefusals, SenseIsTaken) {
    Scenario world({"default", "5r/m"});
    world.setup = sensible();
    EXPECT_EQ(refusal([&world] { world.worker(); }), "");
}

TEST(SetupRefusals, Names) {
    expect_refusals({
        {[](auto& setup) { store(setup, 1).name = "main"; }, "a store \"main\" is named twice"},
        {[](auto& setup) { store(setup, 1).name = ""; }, "a store has no name"},
        {[](auto& setup) { store(setup, 1).name = "local"; }, "a store is named \"local\", which means none"},
        {[](auto& setup) {
             store(setup).shards.push_back({"a", "10.0.0.3:6379"});
         },
         "a shard of the store \"main\" \"a\" is named twice"},
        {[](auto& setup) {
             store(setup).shards.push_back({"", "10.0.0.3:6379"});
         },
         "a shard of the store \"main\" has no name"},
        {[](auto& setup) { limit(setup, 1).name = "default"; }, "a limit \"default\" is named twice"},
        {[](auto& setup) { limit(setup, 1).name = ""; }, "a limit has no name"},
        {[](auto& setup) { store(setup, 1).sentinels[1] = "10.0.1.1:26379"; },
         "\"10.0.1.1:26379\" is named twice"},
        {[](auto& setup) { store(setup, 2).seeds[1] = "10.0.2.1:6379"; }, "\"10.0.2.1:6379\" is named twice"},
    });
}

TEST(SetupRefusals, Servers) {
    expect_refusals({
        {[](auto& setup) { setup.stores.clear(); },
         "the limit default needs the store \"main\", and there is none of this name"},
        {[](auto& setup) { store(setup).shards.clear(); }, "the store \"main\" has no shard and no seed"},
        {[](auto& setup) { store(setup, 1).shards.clear(); },
         "the store \"sentinels\" has no shard and no seed"},
        {[](auto& setup) { store(setup, 1).sentinels.clear(); },
         "the shard \"a\" of the store \"sentinels\" has a master, and the store has no sentinels"},
        {[](auto& setup) { store(setup).sentinels = {"10.0.1.1:26379"}; },
         "the shard \"a\" of the store \"main\" has no master, and the store has sentinels"},
        {[](auto& setup) { store(setup, 1).shards[0].primary = "10.0.0.3:6379"; },
         "has a master and addresses"},
        {[](auto& setup) { store(setup, 1).shards[0].replicas = {"10.0.0.3:6379"}; },
         "has a master and addresses"},
        {[](auto& setup) { store(setup).seeds = {"10.0.2.1:6379"}; },
         "the store \"main\" has seeds of a cluster, and shards"},
        {[](auto& setup) { store(setup, 2).database = 1; },
         "the store \"cluster\" has seeds of a cluster, and shards, sentinels or a database"},
        {[](auto& setup) { store(setup).database = -1; }, "has the database -1: it is 0 to 1000000"},
        {[](auto& setup) { store(setup).sentinel_password = "secret"; },
         "has a password for sentinels, and no sentinels"},
    });
}

/// Wherever a store has an address, one that is none is refused.
TEST(SetupRefusals, Addresses) {
    for (const char* text :
         {"", "10.0.0.1", "10.0.0.1:", ":6379", "redis:6379", "10.0.0:6379", "10.0.0.256:6379", "10.0.0.1:0",
          "10.0.0.1:65536", "10.0.0.1:123456", "10.0.0.1:-1", "10.0.0.1:abc", "10.0.0.1:6379x",
          "10.0.0.1: 6379", " 10.0.0.1:6379"}) {
        const std::string words =
            "\"" + std::string(text) + "\" is no address: IPv4, a colon and a port from 1 to 65535";
        expect_refusals({
            {[text](auto& setup) { store(setup).shards[0].primary = text; }, words},
            {[text](auto& setup) { store(setup).shards[0].replicas[0] = text; }, words},
        });
        Events events(1);
        Network network{events};
        EXPECT_EQ(refusal([&] { Redis(events, network, text); }), words);
        if (*text != '\0') {
            expect_refusals({
                {[text](auto& setup) { store(setup, 1).sentinels[1] = text; }, words},
                {[text](auto& setup) { store(setup, 2).seeds[1] = text; }, words},
            });
        }
    }
    Events events(1);
    Network network{events};
    EXPECT_EQ(refusal([&] { Redis(events, network, "10.0.0.1:06379"); }),
              "\"10.0.0.1:06379\" has zeros in front: nobody would find it");
}

TEST(SetupRefusals, Times) {
    expect_refusals({
        {[](auto& setup) { store(setup).check_timeout = 0; },
         "the store \"main\" has a check_timeout of 0 ms: it is 1 to 86400000"},
        {[](auto& setup) { store(setup).charge_timeout = 0; },
         "the store \"main\" has a charge_timeout of 0 ms"},
        {[](auto& setup) { store(setup).connect_timeout = 0; },
         "the store \"main\" has a connect_timeout of 0 ms"},
        {[](auto& setup) { store(setup).check_timeout = static_cast<Msec>(-1); },
         "a check_timeout of 18446744073709551615 ms"},
        {[](auto& setup) { store(setup).fresh = static_cast<Msec>(-1); },
         "has views that are fresh for 18446744073709551615 ms: it is 0 to 86400000"},
    });
}

TEST(SetupRefusals, Limits) {
    expect_refusals({
        {[](auto& setup) { limit(setup).burst = -1; },
         "the limit \"default\" has a burst of -1: it is 0 to 1000000000000"},
        {[](auto& setup) { limit(setup, 1).burst = max_limit + 1; }, "has a burst of 1000000000001"},
        {[](auto& setup) { limit(setup).burst = 5; }, "the mode check_charge counts by no bucket"},
        {[](auto& setup) {
             limit(setup, 1).burst = max_limit;
             limit(setup, 1).rate = "1r/d";
         },
         "the limit bucket: "},
        {[](auto& setup) { limit(setup, 1).window = "clock"; },
         "the limit \"bucket\" has more than one of a burst, windows of the clock, and requests that run"},
        {[](auto& setup) { limit(setup, 1).running = true; }, "the limit \"bucket\" has more than one of"},
        {[](auto& setup) {
             limit(setup).window = "clock";
             limit(setup).running = true;
         },
         "the limit \"default\" has more than one of"},
        {[](auto& setup) { limit(setup).window = "week"; }, "there is no window \"week\""},
        {[](auto& setup) { limit(setup).lease = 1'000'000'001; },
         "the limit \"default\" has a lease of 1000000001 tokens: it is 0 to 1000000000"},
        {[](auto& setup) { limit(setup).lease = static_cast<std::uint64_t>(-1); },
         "has a lease of 18446744073709551615 tokens"},
        {[](auto& setup) { limit(setup).mode = "leases"; }, "there is no mode \"leases\""},
        {[](auto& setup) { limit(setup).rate = "5"; }, "5: a rate has the form"},
        {[](auto& setup) { limit(setup).store = "another"; },
         "the limit default needs the store \"another\""},
        {[](auto& setup) { setup.zone_size = 0; }, "a zone of 0 bytes is too small: it has 131072 or more"},
    });
}

/// A configuration that makes no sense is read by no machine that runs already, either.
TEST(SetupRefusals, Reload) {
    Scenario world({"default", "5r/m"});
    world.worker();
    auto changed = sensible();
    limit(changed).burst = -1;
    EXPECT_NE(refusal([&] { world.machine().configure(changed); }).find("has a burst of -1"),
              std::string::npos);
}

TEST(SetupRefusals, Links) {
    Events events(1);
    Network network{events};
    Redis redis(events, network, "10.0.0.1:6379");
    Link& link = redis.link();
    const std::string words = "bytes on a link take -1 us: it is 0 or more";
    EXPECT_EQ(refusal([&link] { link.there = -1; }), words);
    EXPECT_EQ(refusal([&link] { link.back = -1; }), words);
    EXPECT_EQ(refusal([&link] { link.jitter_there = -1; }), words);
    EXPECT_EQ(refusal([&link] { link.jitter_back = -1; }), words);
    EXPECT_EQ(refusal([&link] { link.there += -101; }), words);
    EXPECT_EQ(refusal([&link] { link = {1, -1}; }), words);
    EXPECT_EQ(refusal([&link] { link = {0, 0, 0, 0}; }), "");
}

}  // namespace
}  // namespace rate_limit::world
