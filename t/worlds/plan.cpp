#include "t/worlds/plan.h"

#include <algorithm>
#include <array>

#include "t/worlds/region_plan.h"

namespace rate_limit::world {

namespace {

/// The numbers of one part of a world.
Chance part(std::uint64_t seed, std::uint64_t number) {
    constexpr std::uint64_t parts = 8;
    return Chance(seed * parts + number);
}

/// So that the worlds of all kinds that have one seed have nothing else in common.
std::uint64_t seed_of_far(std::uint64_t seed) {
    return ~seed;
}
std::uint64_t seed_of_regions(std::uint64_t seed) {
    return ~seed ^ std::uint64_t{1} << 50U;
}

/// The seeds that have failed before there were sentinels in regions (failed_regions_seeds) draw none here.
Chance moves_of_regions(std::uint64_t seed) {
    return part(seed_of_regions(seed) ^ std::uint64_t{1} << 60U, 5);
}

SitePlan draw_sites(std::uint64_t seed, Places places) {
    return places == Places::one       ? SitePlan()
           : places == Places::several ? SitePlan(part(seed_of_far(seed), 0))
                                       : SitePlan(part(seed_of_regions(seed), 0), true);
}

template <typename Kind>
std::string describe_with_time(const Fault<Kind>& fault) {
    return describe(fault) + " at " + std::to_string(fault.at) + " us, for " + std::to_string(fault.life) +
           " us";
}

}  // namespace

Plan::Plan(std::uint64_t of, Places places)
    : seed(of),
      lasts(part(seed, 0).between(2, 30) * 1'000'000),
      sites(draw_sites(seed, places)),
      servers(part(seed, 1), lasts, sites),
      machines(part(seed, 2), lasts, sites.count),
      traffic(part(seed, 3), servers.stores, lasts),
      course(part(seed, 4)),
      operators{0, Chance(0)} {
    servers.add_later(part(seed, 7), lasts);
    if (sites.regional) {
        RegionPlan(part(seed_of_regions(seed), 1), moves_of_regions(seed), *this).draw();
    } else if (sites.several()) {
        stand_apart(part(seed_of_far(seed), 1));
    }
    Setup setup;
    setup.stores = servers.stores;
    setup.limits = traffic.limits;
    setup.on_error = traffic.on_error;
    // No turn walks through all of a large one; and a small one has no room to note the tokens of so many
    // keys.
    Chance settings = part(seed, 6);
    if (settings.percent(3) || traffic.keys >= 300) {
        setup.zone_size = std::size_t{24} << 20;
    }
    setup.stores.front().shares_overrides = settings.percent(30) && !sites.regional;
    operators = {settings.one_of(std::array<Micros, 3>{20'000, 300'000, 2'000'000}), Chance(settings.bits())};
    machines.add_later(Chance(settings.bits()), lasts);
    if (servers.add_names(Chance(settings.bits()), lasts)) {
        setup.stores.front().shards = servers.stores.front().shards;
    }
    machines.add_late_clocks(Chance(settings.bits()));
    add_setups(setup);
    Chance changes = part(seed, 5);
    for (int i = 0; i < 2 && machines.has(MachineFault::change); ++i) {
        add_setups(draw_change(setup, changes));
    }
}

/// Each region has the servers that are its own. What is asked there takes as long as it is far.
void Plan::add_setups(const Setup& setup) {
    setups.push_back(setup);
    for (std::size_t region = 0; region < servers.of_regions.size(); ++region) {
        const StoreSetup& own = servers.of_regions[region];
        if (region != 0) {
            setups.push_back(setup);
        }
        StoreSetup& store = setups.back().stores.front();
        store.check_timeout = std::max(store.check_timeout, own.check_timeout);
        store.here = own.here;
        store.shards = own.shards;
        store.sentinels = own.sentinels;
        store.elsewhere = own.elsewhere;
    }
}

/// Most of these worlds ask how long reads take: each read is one, and one limit decides.
void Plan::stand_apart(Chance chance) {
    constexpr Msec usual = 100;
    StoreSetup& store = servers.stores.front();
    // A script that a server does not know takes two round trips.
    const auto needed = static_cast<Msec>((2 * sites.longest_round_trip() + 20'000) / 1000);
    store.check_timeout = std::max(usual, needed);
    if (chance.percent(70)) {
        store.fresh = 0;
    }
    if (chance.percent(60)) {
        LimitSetup limit;
        limit.name = traffic.limits.front().name;
        limit.rate = std::to_string(chance.percent(30) ? chance.between(20, 2'000) : 100'000) + "r/h";
        limit.mode = "check_charge";
        limit.store = store.name;
        traffic.limits = {limit};
    }
    if (chance.percent(40)) {
        lose_replicas(chance);
    }
    if (chance.percent(50)) {
        lose_sites(chance);
    }
}

/// Replicas die and come back, with nothing else of their sets.
void Plan::lose_replicas(Chance& chance) {
    constexpr std::array deaths{ServerFault::restart, ServerFault::vanish, ServerFault::silent,
                                ServerFault::pause, ServerFault::half_open};
    for (std::int64_t left = chance.between(1, 3); left > 0; --left) {
        const auto where =
            static_cast<std::size_t>(chance.below(static_cast<std::int64_t>(servers.count_servers())));
        servers.faults.push_back({chance.one_of(deaths), chance.below(lasts),
                                  chance.between(10'000, longest_fault), where, chance.bits()});
    }
}

void Plan::lose_sites(Chance& chance) {
    for (std::int64_t left = chance.between(1, 2); left > 0; --left) {
        const auto site = static_cast<std::size_t>(chance.below(static_cast<std::int64_t>(sites.count)));
        const Micros at = chance.below(lasts);
        const Micros life = chance.between(second / 2, longest_fault);
        const bool gone = chance.percent(50);
        gone ? take_away(site, at, life) : cut_off(site, at, life);
        if (site == sites.home && chance.percent(60)) {
            fail_over(at + life / 8, life - life / 8);
        }
    }
}

/// Nothing passes between the site and the others, and nobody is told.
void Plan::cut_off(std::size_t site, Micros at, Micros life) {
    const std::size_t servers_end = servers.count_servers();
    for (std::size_t machine = 0; machine < machines.clocks.size(); ++machine) {
        const bool inside = sites.of_machine(machine) == site;
        for (std::size_t to = 0; to < partable().size(); ++to) {
            const std::size_t there =
                to < servers_end ? sites.of_server(to) : sites.of_sentinel(to - servers_end);
            if ((there == site) != inside) {
                machines.faults.push_back({MachineFault::partition, at, life, machine, to});
            }
        }
    }
    for (std::size_t server = 0; server < servers_end; ++server) {
        if ((sites.of_server(server) == site) != (sites.home == site)) {
            servers.faults.push_back({ServerFault::stall, at, life, server, 0});
        }
    }
}

/// Its machines and servers die without a word.
void Plan::take_away(std::size_t site, Micros at, Micros life) {
    for (std::size_t machine = 0; machine < machines.clocks.size(); ++machine) {
        if (sites.of_machine(machine) == site) {
            machines.faults.push_back({MachineFault::crash, at, life, machine, 0});
        }
    }
    for (std::size_t server = 0; server < servers.count_servers(); ++server) {
        if (sites.of_server(server) == site) {
            servers.faults.push_back({ServerFault::vanish, at, life, server, 0});
        }
    }
    for (std::size_t sentinel = 0; sentinel < servers.sentinels.size(); ++sentinel) {
        if (sites.of_sentinel(sentinel) == site) {
            servers.faults.push_back({ServerFault::lost_sentinel, at, life, 0, sentinel});
        }
    }
}

/// Replicas take the places of all primaries.
void Plan::fail_over(Micros at, Micros life) {
    std::size_t first = 0;
    for (const ServerPlan::Set& set : servers.sets) {
        servers.faults.push_back({ServerFault::failover, at, life, first, first});
        first += set.members;
    }
}

std::vector<std::string> Plan::partable() const {
    std::vector<std::string> addresses;
    for (std::size_t server = 0; server < servers.count_servers(); ++server) {
        addresses.push_back(address_of_server(server));
    }
    if (sites.several()) {
        addresses.insert(addresses.end(), servers.sentinels.begin(), servers.sentinels.end());
    }
    return addresses;
}

Plan Plan::with_faults(const std::vector<std::size_t>& numbers) const {
    Plan plan = *this;
    plan.servers.faults.clear();
    plan.machines.faults.clear();
    const std::size_t of_servers = servers.faults.size();
    for (const std::size_t number : numbers) {
        if (number < of_servers) {
            plan.servers.faults.push_back(servers.faults[number]);
        } else {
            plan.machines.faults.push_back(machines.faults.at(number - of_servers));
        }
    }
    return plan;
}

bool Plan::is_calm(Micros now) const noexcept {
    const auto is_over = [now](const auto& fault) {
        return fault.at > now || fault.at + fault.life + calms_in < now;
    };
    return std::all_of(servers.faults.begin(), servers.faults.end(), is_over) &&
           std::all_of(machines.faults.begin(), machines.faults.end(), is_over);
}

std::string Plan::describe_fault(std::size_t number) const {
    const std::size_t of_servers = servers.faults.size();
    return number < of_servers ? describe_with_time(servers.faults[number])
                               : describe_with_time(machines.faults.at(number - of_servers));
}

}  // namespace rate_limit::world
