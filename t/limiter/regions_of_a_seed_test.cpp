// Regions at random distances whose replicas lag, with and without cuts: what all of them admit together, and
// store.

#include <algorithm>
#include <map>
#include <utility>

#include "t/limiter/regions.h"
#include "t/world/chance.h"

namespace rate_limit::world::regions_of_a_seed_test {
namespace {

class RegionsOfASeed : public Regions {
protected:
    static constexpr std::int64_t limit = 50;
    static constexpr std::size_t count = 3;
    static constexpr Msec longest = 30;  // a request's response

    struct Admitted {
        Millis at;
        std::size_t region;
        Millis window;
    };

    struct Running {
        ClientRequest* request;
        Millis until;
        std::size_t region;
    };

    void SetUp() override { start(count, std::to_string(limit) + "r/m"); }

    /// Distances, lags and what is fresh.
    void set_out(Chance& chance) {
        slowest_lag = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const Micros lag = chance.between(1, 150) * 1000;
            slowest_lag = std::max(slowest_lag, lag);
            regions[i].primary->replication_to(*regions[i].replica)->set_lag(lag);
            for (std::size_t by = 0; by < count; ++by) {
                Path& path = world.network.path(by, address(i, false));
                path.there = path.back = by != i ? chance.between(0, 35) * 1000 : 0;
            }
            store(i).fresh = chance.percent(50) ? std::optional<Msec>(0) : std::nullopt;
        }
    }

    void end_due(bool all) {
        for (Running& each : running) {
            if (each.request->is_decided() && !each.request->is_over() && (all || world.at() >= each.until)) {
                if (each.request->is_admitted()) {
                    charged[{each.region, world.at() / 60'000}] += 1;
                    each.request->end();
                }
                each.request = nullptr;
            }
        }
        running.erase(
            std::remove_if(running.begin(), running.end(), [](const Running& one) { return !one.request; }),
            running.end());
    }

    void note_decided() {
        for (std::size_t i = noted; i < running_all.size(); ++i) {
            const auto& [request, region] = running_all[i];
            if (!request->is_decided()) {
                continue;
            }
            if (request->is_admitted()) {
                admitted.push_back({world.at(), region, request->verdicts()[0].window.reset});
            }
            std::swap(running_all[i], running_all[noted++]);
        }
    }

    /// So many seconds of requests at all machines.
    void run(Chance& chance, Millis seconds) {
        const Millis end = world.at() + seconds * 1000;
        while (world.at() < end) {
            const auto region = static_cast<std::size_t>(chance.below(count));
            ClientRequest& request = begin(region);
            running.push_back({&request, world.at() + chance.between(0, longest), region});
            running_all.push_back({&request, region});
            const Millis next = world.at() + chance.between(1, 60);
            while (world.at() < next) {
                world.pass(1);
                note_decided();
                end_due(false);
            }
        }
        world.pass(200);
        note_decided();
        end_due(true);
        world.pass(1'000);
    }

    /// A request is admitted only while less than the limit was admitted before all that is on its way.
    void expect_no_more_than_on_its_way() {
        const Millis way = slowest_lag / 1000 + longest + 2 * 35 + 60 + 20;
        for (const Admitted& each : admitted) {
            const auto before = std::count_if(admitted.begin(), admitted.end(), [&](const Admitted& other) {
                return other.window == each.window && other.at < each.at - way;
            });
            EXPECT_LT(before, limit) << "at " << each.at << " in region " << each.region;
        }
    }

    /// Regions that know nothing of each other show it, too.
    void expect_the_limit_in_each_region() {
        std::map<std::pair<std::size_t, Millis>, std::int64_t> sums;
        for (const Admitted& each : admitted) {
            EXPECT_LE(++sums[std::make_pair(each.region, each.window)], limit);
        }
    }

    /// The window that is open: what is stored of it is what was charged.
    void expect_stored() {
        for (std::size_t i = 0; i < count; ++i) {
            const Window window = regions[i].primary->window("rl:default/60c:k");
            if (window.reset > world.at()) {
                EXPECT_EQ(window.used, (charged[{i, window.reset / 60'000 - 1}])) << "of region " << i;
            }
        }
    }

    Micros slowest_lag = 0;
    std::vector<Admitted> admitted;
    std::map<std::pair<std::size_t, Millis>, std::int64_t> charged;  // by region and minute
    std::vector<Running> running;
    std::vector<std::pair<ClientRequest*, std::size_t>> running_all;
    std::size_t noted = 0;
};

class RegionsThatAnswer : public RegionsOfASeed, public testing::WithParamInterface<std::uint64_t> {};

TEST_P(RegionsThatAnswer, AdmitTheLimitAndWhatIsOnItsWay) {
    Chance chance(GetParam());
    set_out(chance);
    world.pass(1'000);
    run(chance, 100);
    EXPECT_GT(admitted.size(), static_cast<std::size_t>(limit));
    expect_no_more_than_on_its_way();
    expect_the_limit_in_each_region();
    expect_stored();
}

INSTANTIATE_TEST_SUITE_P(Each, RegionsThatAnswer, testing::Range<std::uint64_t>(1, 7));

class RegionsThatAreCutOff : public RegionsOfASeed, public testing::WithParamInterface<std::uint64_t> {};

TEST_P(RegionsThatAreCutOff, AdmitTheLimitEach) {
    Chance chance(GetParam());
    set_out(chance);
    world.pass(60'000 - static_cast<Msec>(world.at() % 60'000) + 45'000);
    run(chance, 5);
    for (std::size_t i = 0; i < count; ++i) {
        cut(i);
    }
    run(chance, 65);  // over a whole window
    expect_the_limit_in_each_region();
    expect_stored();
    const bool for_good = chance.percent(30);
    if (for_good) {
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        mend(i);
    }
    world.pass(5'000);
    admitted.clear();
    run(chance, 60);
    world.pass(60'000 - static_cast<Msec>(world.at() % 60'000));
    admitted.clear();
    run(chance, 50);
    expect_no_more_than_on_its_way();
    expect_stored();
}

INSTANTIATE_TEST_SUITE_P(Each, RegionsThatAreCutOff, testing::Range<std::uint64_t>(1, 4));

}  // namespace
}  // namespace rate_limit::world::regions_of_a_seed_test
