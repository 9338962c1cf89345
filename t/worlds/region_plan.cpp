#include "t/worlds/region_plan.h"

#include <algorithm>
#include <array>
#include <string>

namespace rate_limit::world {

void RegionPlan::draw() {
    constexpr Msec usual = 100;
    // A script that a server does not know takes two round trips.
    const auto needed = static_cast<Msec>((2 * plan_.sites.longest_round_trip() + 20'000) / 1000);
    const std::optional<Msec> fresh = chance_.percent(50) ? std::optional<Msec>(0) : std::nullopt;
    for (StoreSetup& store : plan_.servers.of_regions) {
        store.check_timeout = std::max(usual, needed);
        store.fresh = fresh;
    }
    const bool moves = moves_.percent(35);
    const bool dies = moves_.percent(15);
    if (moves) {
        add_sentinels();
    }
    plan_.servers.stores = {plan_.servers.of_regions.front()};
    draw_limits();
    add_machines();
    begin_clocks_later();
    if (chance_.percent(50)) {
        plan_.servers.faults.clear();
    }
    if (chance_.percent(70)) {
        lose_regions();
    }
    if (moves) {
        fail_over();
        lose_sentinel();
    }
    if (dies) {
        lose_for_good();
    }
}

/// Its machines and servers die without a word, and in some worlds the replicas that it has in other regions,
/// too: so that nobody answers for it. In some worlds nothing else fails. No other fault of its machines is
/// to bring them back.
void RegionPlan::lose_for_good() {
    constexpr Micros ever = 3600 * second;
    const auto region = static_cast<std::size_t>(moves_.below(static_cast<std::int64_t>(plan_.sites.count)));
    const bool replicas_too = moves_.percent(60);
    const Micros at = moves_.below(plan_.lasts / 2);
    plan_.sites.gone = region;
    auto& of_machines = plan_.machines.faults;
    if (moves_.percent(50)) {
        plan_.servers.faults.clear();
        of_machines.clear();
    }
    const auto is_of_it = [&](const Fault<MachineFault>& fault) {
        return plan_.sites.region_of(fault.where) == region && fault.at + fault.life >= at;
    };
    of_machines.erase(std::remove_if(of_machines.begin(), of_machines.end(), is_of_it), of_machines.end());
    for (std::size_t machine = region; machine < plan_.machines.clocks.size(); machine += plan_.sites.count) {
        of_machines.push_back({MachineFault::crash, at, ever, machine, 0});
    }
    for (std::size_t server = 0; server < plan_.servers.count_servers(); ++server) {
        const std::size_t of = plan_.servers.region_of_set(plan_.servers.set_of(server), plan_.sites.count);
        if (plan_.sites.of_server(server) == region || (replicas_too && of == region)) {
            plan_.servers.faults.push_back({ServerFault::gone, at, ever, server, 0});
        }
    }
}

/// Each region has sentinels of its own, which stand there. Masters of several regions have the same names.
void RegionPlan::add_sentinels() {
    const std::int64_t count = moves_.one_of(std::array<std::int64_t, 2>{1, 3});
    const auto named = static_cast<std::size_t>(moves_.between(1, count));
    plan_.servers.sentinels = addresses_of_sentinels(static_cast<std::size_t>(count) * plan_.sites.count);
    for (std::size_t region = 0; region < plan_.sites.count; ++region) {
        StoreSetup& store = plan_.servers.of_regions[region];
        store.sentinels = sentinels_of(region, named);
        find_by_sentinels(store.shards);
        for (std::size_t other = 0; other < plan_.sites.count; ++other) {
            if (other != region) {
                RegionSetup& elsewhere = store.elsewhere[other - (other > region ? 1 : 0)];
                elsewhere.sentinels = sentinels_of(other, named);
                find_by_sentinels(elsewhere.shards);
            }
        }
    }
}

void RegionPlan::find_by_sentinels(std::vector<ShardSetup>& shards) const {
    for (ShardSetup& shard : shards) {
        shard = {shard.name, {}, {}, shard.name};
    }
}

/// The first of them, so many.
std::vector<std::string> RegionPlan::sentinels_of(std::size_t region, std::size_t named) const {
    std::vector<std::string> addresses;
    for (std::size_t i = region; addresses.size() < named; i += plan_.sites.count) {
        addresses.push_back(plan_.servers.sentinels[i]);
    }
    return addresses;
}

/// Primaries of a region are replaced, once or several times, all together or one of them.
void RegionPlan::fail_over() {
    constexpr std::array kinds{ServerFault::failover, ServerFault::death, ServerFault::freeze};
    for (std::int64_t left = moves_.between(1, 3); left > 0; --left) {
        const auto region =
            static_cast<std::size_t>(moves_.below(static_cast<std::int64_t>(plan_.sites.count)));
        const ServerFault kind = moves_.one_of(kinds);
        const Micros at = moves_.below(plan_.lasts);
        const Micros life = moves_.between(second / 10, longest_fault);
        const bool all = moves_.percent(70);
        std::size_t first = 0;
        for (std::size_t set = 0; set < plan_.servers.sets.size(); ++set) {
            const std::uint64_t bits = moves_.bits();
            if (plan_.servers.region_of_set(set, plan_.sites.count) == region && (all || bits % 2 == 0)) {
                plan_.servers.faults.push_back({kind, at, life, first, bits});
            }
            first += plan_.servers.sets[set].members;
        }
    }
}

void RegionPlan::lose_sentinel() {
    const auto where =
        static_cast<std::size_t>(moves_.below(static_cast<std::int64_t>(plan_.servers.count_servers())));
    const Micros at = moves_.below(plan_.lasts);
    const Micros life = moves_.between(second / 10, longest_fault);
    const std::uint64_t bits = moves_.bits();
    if (moves_.percent(40)) {
        plan_.servers.faults.push_back({ServerFault::lost_sentinel, at, life, where, bits});
    }
}

/// Half of the windows outlast the world: what is stored is compared with what was admitted. Most limits are
/// reached, some late.
void RegionPlan::draw_limits() {
    TrafficPlan& traffic = plan_.traffic;
    traffic.reserve = 0;
    traffic.keys = std::min<std::int64_t>(traffic.keys, 20);
    const std::int64_t side_by_side = traffic.arrivals == Arrivals::closed ? traffic.at_once : 1;
    for (LimitSetup& limit : traffic.limits) {
        const bool lasts = chance_.percent(60);
        const Micros span = lasts ? plan_.lasts : 10 * second;
        const std::int64_t wanted = span / traffic.pause * side_by_side * traffic.most_cost / traffic.keys;
        const std::int64_t most =
            chance_.percent(25) ? chance_.between(1, 30) : wanted * chance_.between(10, 120) / 100 + 1;
        limit = LimitSetup{limit.name, std::to_string(most) + (lasts ? "r/h" : "r/10s"), "check_charge"};
        limit.window = "clock";
    }
}

/// Up to two more of each region, which also die, stall or get new workers.
void RegionPlan::add_machines() {
    constexpr std::array kinds{MachineFault::kill, MachineFault::crash, MachineFault::reload,
                               MachineFault::stall};
    std::vector<WallClock>& clocks = plan_.machines.clocks;
    const std::size_t most = clocks.size() + static_cast<std::size_t>(chance_.below(4));
    while (clocks.size() < most) {
        clocks.push_back(clocks[static_cast<std::size_t>(chance_.below(2))]);
    }
    for (std::int64_t left = chance_.percent(40) ? chance_.between(1, 3) : 0; left > 0; --left) {
        const auto where = static_cast<std::size_t>(chance_.below(static_cast<std::int64_t>(clocks.size())));
        plan_.machines.faults.push_back({chance_.one_of(kinds), chance_.below(plan_.lasts),
                                         chance_.between(1'000, longest_fault), where, chance_.bits()});
    }
}

/// Windows of an hour by the clock begin long before the world and end long after it, also by clocks that
/// differ, and those of 10 seconds at any time.
void RegionPlan::begin_clocks_later() {
    const Micros later = 1'000 * second + chance_.below(10 * second);
    for (WallClock& clock : plan_.machines.clocks) {
        clock.ahead += later;
    }
    for (ServerPlan::Set& set : plan_.servers.sets) {
        set.ahead += later;
    }
}

void RegionPlan::lose_regions() {
    for (std::int64_t left = chance_.between(1, 2); left > 0; --left) {
        const auto region =
            static_cast<std::size_t>(chance_.below(static_cast<std::int64_t>(plan_.sites.count)));
        const Micros at = chance_.below(plan_.lasts);
        const Micros life =
            chance_.between(second / 2, std::min(3 * longest_fault, plan_.lasts - at + longest_fault));
        const std::int64_t kind = chance_.below(10);
        kind < 5   ? cut(region, at, life)
        : kind < 7 ? part(region, at, life)
                   : take_away(region, at, std::min(life, longest_fault));
    }
}

/// Nothing passes between the region and the others, and nobody is told: what is read there of other regions
/// is what had arrived.
void RegionPlan::cut(std::size_t region, Micros at, Micros life) {
    part(region, at, life);
    for (std::size_t server = 0; server < plan_.servers.count_servers(); ++server) {
        const std::size_t of = plan_.servers.region_of_set(plan_.servers.set_of(server), plan_.sites.count);
        if ((of == region) != (plan_.sites.of_server(server) == region)) {
            plan_.servers.faults.push_back({ServerFault::stall, at, life, server, 0});
        }
    }
}

/// Whether the server or sentinel does that has this number among those that a machine may be parted from.
bool RegionPlan::stands_in(std::size_t partable, std::size_t region) const {
    const std::size_t servers = plan_.servers.count_servers();
    return region == (partable < servers ? plan_.sites.of_server(partable)
                                         : plan_.sites.of_sentinel(partable - servers));
}

/// Machines reach no server and no sentinel that is not in their own region, nor do others reach those there.
void RegionPlan::part(std::size_t region, Micros at, Micros life) {
    for (std::size_t machine = 0; machine < plan_.machines.clocks.size(); ++machine) {
        const bool inside = plan_.sites.of_machine(machine) == region;
        for (std::size_t there = 0; there < plan_.partable().size(); ++there) {
            if (stands_in(there, region) != inside) {
                plan_.machines.faults.push_back({MachineFault::partition, at, life, machine, there});
            }
        }
    }
}

/// Its machines and servers die without a word.
void RegionPlan::take_away(std::size_t region, Micros at, Micros life) {
    for (std::size_t machine = 0; machine < plan_.machines.clocks.size(); ++machine) {
        if (plan_.sites.of_machine(machine) == region) {
            plan_.machines.faults.push_back({MachineFault::crash, at, life, machine, 0});
        }
    }
    for (std::size_t server = 0; server < plan_.servers.count_servers(); ++server) {
        if (plan_.sites.of_server(server) == region) {
            plan_.servers.faults.push_back({ServerFault::vanish, at, life, server, 0});
        }
    }
    const std::size_t first = plan_.servers.first_server_of(region, plan_.sites.count);
    for (std::size_t i = 0; i < plan_.servers.sentinels.size() / plan_.sites.count; ++i) {
        plan_.servers.faults.push_back({ServerFault::lost_sentinel, at, life, first, i});
    }
}

}  // namespace rate_limit::world
