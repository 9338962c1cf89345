#include "t/worlds/server_plan.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rate_limit::world {

const char* name_of(ServerFault kind) noexcept {
    constexpr std::array<const char*, server_faults> names{
        "reset",   "cut",      "slow",          "jitter",    "pieces",    "silent",        "half-open",
        "refused", "pause",    "restart",       "vanish",    "data loss", "flush",         "loading",
        "oom",     "misconf",  "no replicas",   "read only", "busy",      "lag",           "stall",
        "stale",   "failover", "hand over",     "death",     "freeze",    "lost sentinel", "slot move",
        "down",    "deaf",     "no permission", "old data",  "moved",     "gone"};
    return names[static_cast<std::size_t>(kind)];
}

ServerPlan::ServerPlan(Chance chance, Micros lasts, SitePlan& sites) {
    constexpr std::array<Discovery, 10> choices{Discovery::by_configuration, Discovery::by_configuration,
                                                Discovery::by_configuration, Discovery::by_configuration,
                                                Discovery::by_sentinels,     Discovery::by_sentinels,
                                                Discovery::by_sentinels,     Discovery::by_cluster,
                                                Discovery::by_cluster,       Discovery::by_cluster};
    const Discovery discovery = chance.one_of(choices);
    if (sites.regional) {
        add_regions(chance, sites);
    } else {
        StoreSetup store;
        add_sets(chance, discovery, store, sites);
        if (discovery == Discovery::by_sentinels) {
            add_sentinels(chance, store);
        } else if (discovery == Discovery::by_cluster) {
            add_cluster(chance, store);
        }
        stores = {store};
    }
    version = static_cast<ServerVersion>(chance.below(3));
    const std::int64_t most = sites.several() ? 6 : 20;  // else hardly anything is well anywhere
    faults = draw_faults<ServerFault>(chance, {0, kinds_drawn_together}, most, count_servers(), lasts);
}

std::size_t ServerPlan::count_servers() const noexcept {
    std::size_t servers = 0;
    for (const Set& set : sets) {
        servers += set.members;
    }
    return servers;
}

bool ServerPlan::has(ServerFault kind) const noexcept {
    return std::any_of(faults.begin(), faults.end(),
                       [kind](const Fault<ServerFault>& fault) { return fault.kind == kind; });
}

bool ServerPlan::replaces_primaries() const noexcept {
    return has(ServerFault::failover) || has(ServerFault::hand_over) || has(ServerFault::death) ||
           has(ServerFault::freeze) || has(ServerFault::slot_move);
}

Micros ServerPlan::gained() const noexcept {
    Micros most = 0;
    for (const Set& set : sets) {
        most = std::max(most, std::abs(set.apart) * static_cast<Micros>(set.members - 1));
    }
    Micros sum = 0;
    for (const Fault<ServerFault>& fault : faults) {
        const bool replaces = fault.kind == ServerFault::failover || fault.kind == ServerFault::hand_over ||
                              fault.kind == ServerFault::death || fault.kind == ServerFault::freeze;
        sum += replaces ? most : 0;
    }
    return sum;
}

/// Keys live for a second longer than they have to: clocks that differ by less lose nothing.
void ServerPlan::add_later(Chance chance, Micros lasts) {
    constexpr Micros most_apart = second / 4;
    if (chance.percent(20) && slot_owners == 0) {  // between the servers of a cluster slots move
        for (Set& set : sets) {
            set.apart = chance.between(-most_apart, most_apart);
        }
    }
    if (!chance.percent(30)) {
        return;
    }
    const auto more = draw_faults<ServerFault>(chance, {kinds_drawn_together, kinds_drawn_later}, 5,
                                               count_servers(), lasts);
    faults.insert(faults.end(), more.begin(), more.end());
}

bool ServerPlan::add_names(Chance chance, Micros lasts) {
    StoreSetup& store = stores.front();
    if (store.discovers() || !of_regions.empty() || !chance.percent(30)) {
        return false;
    }
    std::size_t number = 0;
    for (ShardSetup& shard : store.shards) {
        shard.primary = host_of_server(number++) + ":6379";
        for (std::string& replica : shard.replicas) {
            replica = host_of_server(number++) + ":6379";
        }
    }
    const auto more =
        draw_faults<ServerFault>(chance, {kinds_drawn_later, kinds_drawn_at_all}, 5, count_servers(), lasts);
    faults.insert(faults.end(), more.begin(), more.end());
    return true;
}

void ServerPlan::add_sets(Chance& chance, Discovery discovery, StoreSetup& store, SitePlan& sites) {
    const std::int64_t count = chance.between(1, sites.several() ? 2 : 3);
    const bool discovers = discovery != Discovery::by_configuration;
    const std::int64_t most_replicas = chance.percent(50) ? (discovers ? 1 : 0) : 2;
    std::size_t servers = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const Micros ahead = chance.percent(70) ? 0 : chance.between(-2 * second, 2 * second);
        const Micros lag = chance.one_of(std::array<Micros, 3>{200, 2'000, 50'000});
        const auto members =
            sites.several() ? sites.place_set(chance)
                            : static_cast<std::size_t>(chance.between(discovers ? 1 : 0, most_replicas)) + 1;
        ShardSetup shard{std::string(1, static_cast<char>('a' + i)), {}};
        if (discovers) {
            shard.master = shard.name;
        } else {
            shard.primary = address_of_server(servers);
            for (std::size_t replica = 1; replica < members; ++replica) {
                shard.replicas.push_back(address_of_server(servers + replica));
            }
        }
        store.shards.push_back(shard);
        sets.push_back({members, ahead, lag, 0});
        servers += members;
    }
}

/// The sets of a region follow one another. Each has a replica at least in every other region.
void ServerPlan::add_regions(Chance& chance, SitePlan& sites) {
    const std::int64_t shards = chance.between(1, 2);
    for (sites.home = 0; sites.home < sites.count; ++sites.home) {
        for (std::int64_t shard = 0; shard < shards; ++shard) {
            const Micros ahead = chance.percent(70) ? 0 : chance.between(-2 * second, 2 * second);
            const Micros lag = chance.one_of(std::array<Micros, 3>{200, 2'000, 50'000});
            sets.push_back({sites.place_set(chance), ahead, lag, 0});
        }
    }
    sites.home = 0;
    const bool near_alone = chance.percent(40);
    for (std::size_t region = 0; region < sites.count; ++region) {
        of_regions.push_back(store_in(region, sites, near_alone));
    }
    stores = {of_regions.front()};
}

/// `near_alone`: of other regions only replicas that stand here are read.
StoreSetup ServerPlan::store_in(std::size_t region, const SitePlan& sites, bool near_alone) const {
    StoreSetup store;
    store.here = "r" + std::to_string(region);
    std::vector<std::vector<ShardSetup>> shards(sites.count);
    std::size_t server = 0;
    for (std::size_t number = 0; number < sets.size(); ++number) {
        const std::size_t of = region_of_set(number, sites.count);
        ShardSetup shard{std::string(1, static_cast<char>('a' + shards[of].size())), {}};
        shard.primary = of == region ? address_of_server(server) : "";
        for (std::size_t replica = 1; replica < sets[number].members; ++replica) {
            if (sites.of_server(server + replica) == region || (of != region && !near_alone)) {
                shard.replicas.push_back(address_of_server(server + replica));
            }
        }
        shards[of].push_back(shard);
        server += sets[number].members;
    }
    store.shards = shards[region];
    for (std::size_t other = 0; other < sites.count; ++other) {
        if (other != region) {
            store.elsewhere.push_back({"r" + std::to_string(other), shards[other]});
        }
    }
    return store;
}

std::size_t ServerPlan::first_server_of(std::size_t region, std::size_t regions) const noexcept {
    std::size_t first = 0;
    for (std::size_t set = 0; set < sets.size() && region_of_set(set, regions) < region; ++set) {
        first += sets[set].members;
    }
    return first;
}

std::size_t ServerPlan::set_of(std::size_t server) const noexcept {
    std::size_t set = 0;
    for (std::size_t end = sets.front().members; server >= end; end += sets[set].members) {
        ++set;
    }
    return set;
}

/// Those that are not configured are found by the others.
void ServerPlan::add_sentinels(Chance& chance, StoreSetup& store) {
    const std::int64_t count = chance.one_of(std::array<std::int64_t, 3>{1, 3, 5});
    sentinels = addresses_of_sentinels(static_cast<std::size_t>(count));
    const std::int64_t named = chance.between(1, count);
    store.sentinels.assign(sentinels.begin(), sentinels.begin() + named);
}

/// All its servers have one clock: slots move between them.
void ServerPlan::add_cluster(Chance& chance, StoreSetup& store) {
    store.shards.clear();
    slot_owners = static_cast<std::size_t>(chance.between(1, static_cast<std::int64_t>(sets.size())));
    std::size_t servers = 0;
    for (Set& set : sets) {
        set.ahead = sets.front().ahead;
        servers += set.members;
    }
    const std::int64_t named = chance.between(1, static_cast<std::int64_t>(servers));
    for (std::int64_t i = 0; i < named; ++i) {
        store.seeds.push_back(address_of_server(static_cast<std::size_t>(i)));
    }
}

std::vector<std::string> addresses_of_sentinels(std::size_t count) {
    std::vector<std::string> addresses;
    for (std::size_t i = 1; i <= count; ++i) {
        addresses.push_back("10.0.1." + std::to_string(i) + ":26379");
    }
    return addresses;
}

std::string address_of_server(std::size_t number) {
    return "10.0.0." + std::to_string(number + 1) + ":6379";
}

std::string other_address_of_server(std::size_t number) {
    return "10.0.2." + std::to_string(number + 1) + ":6379";
}

std::string host_of_server(std::size_t number) {
    return "server" + std::to_string(number + 1);
}

}  // namespace rate_limit::world
