#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "limiter/request/decisions.h"
#include "limiter/store/region_watch.h"
#include "t/limiter/checked.h"

namespace rate_limit::world {

/// Regions with a machine, a primary and a replica each. A replica stands with the machines of all regions;
/// what the primary writes reaches it after `lag`.
class Regions : public testing::Test {
protected:
    static constexpr Micros lag = 40'000;

    struct Reads final : CommandObserver {
        void on_command(Server& /*server*/, const ServerCommand& /*command*/, Words words) override {
            count += words[0] == "hmget" || words[0] == "HMGET" ? 1 : 0;
        }
        std::uint64_t count = 0;
    };

    struct Region {
        std::unique_ptr<Reads> reads = std::make_unique<Reads>();
        std::unique_ptr<Redis> primary;
        std::unique_ptr<Redis> replica;
    };

    void SetUp() override { start(2, "100r/h"); }

    static std::string address(std::size_t region, bool primary) {
        return "10." + std::to_string(region) + ".0." + (primary ? "1" : "2") + ":6379";
    }

    /// The replication ID of the servers of a region.
    static std::string id(std::size_t region) { return std::string(40, static_cast<char>('a' + region)); }

    static std::string name(std::size_t region) { return "r" + std::to_string(region); }

    void start(std::size_t count, const std::string& rate) {
        regions.clear();
        for (std::size_t i = 0; i < count; ++i) {
            Region& region = regions.emplace_back();
            region.primary = std::make_unique<Redis>(world.events, world.network, address(i, true));
            region.replica = std::make_unique<Redis>(world.events, world.network, address(i, false));
            region.replica->server().observe(region.reads.get());
            region.primary->replicate_to(*region.replica, lag);
            region.primary->server().state.replication_id = id(i);
            region.replica->server().state.replication_id = id(i);
            auto& setup = world.setups[i];
            setup.limits = {LimitSetup{"default", rate}};
            setup.limits.front().window = "clock";
            StoreSetup& store = setup.stores.emplace_back(Scenario::store_at(address(i, true)));
            store.here = name(i);
            for (std::size_t other = 0; other < count; ++other) {
                if (other != i) {
                    store.elsewhere.push_back({name(other), {{"a", "", {address(other, false)}}}});
                }
            }
        }
    }

    StoreSetup& store(std::size_t region) { return world.setups.at(region).stores.front(); }

    ClientRequest& begin(std::size_t region, const std::string& key = "k", std::int64_t cost = 1) {
        return world.begin({key, cost}, &world.worker(0, region));
    }

    /// The outcome and what is shown as used; nothing is charged.
    std::string check(std::size_t region, const std::string& key = "k") {
        ClientRequest& request = begin(region, key);
        world.until([&request] { return request.is_decided(); });
        return shown_exempt(request);
    }

    void charge(std::size_t region, std::int64_t cost, const std::string& key = "k") {
        ASSERT_EQ(world.ask({key, cost}, &world.worker(0, region)), "PASSED");
        world.pass(100);
    }

    std::int64_t stored(std::size_t region, const std::string& key = "k") {
        return regions[region].primary->used("rl:default/3600c:" + key);
    }

    /// The one that decides a request now; nothing is charged.
    std::string source(std::size_t region, const std::string& key = "k") {
        ClientRequest& request = begin(region, key);
        world.until([&request] { return request.is_decided(); });
        const std::string by(decided_by(request.applied(0)));
        shown_exempt(request);
        return by;
    }

    /// How often the replica of a region has been asked for a window by the limiter.
    std::uint64_t reads(std::size_t region) { return regions[region].reads->count; }

    /// Nobody elsewhere reaches the region; its own machine does.
    void cut(std::size_t region, bool parted = true) {
        for (std::size_t other = 0; other < regions.size(); ++other) {
            if (other != region) {
                world.network.path(other, address(region, false)).parted = parted;
            }
        }
    }
    void mend(std::size_t region) { cut(region, false); }

    std::uint64_t remembered(std::size_t by, std::size_t of) {
        return Counters<RegionCount>(world.machine(by).zone().counters(), {"main/" + name(of), "a", {}})
            .count(RegionCount::remembered);
    }

    Scenario world{LimitSetup{}};
    std::vector<Region> regions;
};

}  // namespace rate_limit::world
