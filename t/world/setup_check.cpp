#include <map>
#include <set>
#include <stdexcept>

#include "core/limit/bucket.h"
#include "limiter/zone.h"
#include "t/world/configured.h"

namespace rate_limit::world {

namespace {

[[noreturn]] void refuse(const std::string& text) {
    throw std::invalid_argument(text);
}

std::string quoted(const std::string& text) {
    return "\"" + text + "\"";
}

/// Notes the name in `seen`. `what`: what has it.
void check_name(std::set<std::string>& seen, const std::string& name, const std::string& what) {
    if (name.empty()) {
        refuse(what + " has no name");
    }
    if (!seen.insert(name).second) {
        refuse(what + " " + quoted(name) + " is named twice");
    }
}

void check_time(const std::string& of, const char* name, Msec time, Msec least) {
    constexpr Msec longest = 86'400'000;
    if (time < least || time > longest) {
        refuse(of + " has " + name + " " + std::to_string(time) + " ms: it is " + std::to_string(least) +
               " to " + std::to_string(longest));
    }
}

void check_shard(const ShardSetup& shard, bool has_sentinels, const std::string& of) {
    const std::string name = "the shard " + quoted(shard.name) + " of " + of;
    if (shard.master.empty() == has_sentinels) {
        refuse(name + (has_sentinels ? " has no master, and the store has sentinels"
                                     : " has a master, and the store has no sentinels"));
    }
    if (has_sentinels && !(shard.primary.empty() && shard.replicas.empty())) {
        refuse(name + " has a master and addresses: the sentinels tell these");
    }
}

/// Which servers it has.
void check_servers(const StoreSetup& store, const std::string& of) {
    const bool has_sentinels = !store.sentinels.empty();
    if (!store.seeds.empty() && (has_sentinels || !store.shards.empty() || store.database != 0)) {
        refuse(of + " has seeds of a cluster, and shards, sentinels or a database, too");
    }
    if (store.seeds.empty() && store.shards.empty()) {
        refuse(of + " has no shard and no seed: nobody counts");
    }
    if (!has_sentinels && !store.sentinel_password.empty()) {
        refuse(of + " has a password for sentinels, and no sentinels");
    }
    std::set<std::string> names;
    for (const ShardSetup& shard : store.shards) {
        check_name(names, shard.name, "a shard of " + of);
        check_shard(shard, has_sentinels, of);
    }
    std::set<std::string> addresses;
    for (const auto* list : {&store.sentinels, &store.seeds}) {
        for (const std::string& address : *list) {
            check_name(addresses, address, "a server to ask of " + of);
        }
    }
}

void check_store(const StoreSetup& store) {
    const std::string of = "the store " + quoted(store.name);
    if (store.name == "local") {
        refuse("a store is named \"local\", which means none");
    }
    check_time(of, "a check_timeout of", store.check_timeout, 1);
    check_time(of, "a charge_timeout of", store.charge_timeout, 1);
    check_time(of, "a connect_timeout of", store.connect_timeout, 1);
    check_time(of, "views that are fresh for", store.fresh.value_or(0), 0);
    if (store.database < 0 || store.database > 1'000'000) {
        refuse(of + " has the database " + std::to_string(store.database) + ": it is 0 to 1000000");
    }
    check_servers(store, of);
    if (store.here.empty() != store.elsewhere.empty() || (!store.seeds.empty() && !store.here.empty())) {
        refuse(of + " has a region here and no other ones, or these and none here, or a cluster in them");
    }
    std::set<std::string> regions{store.here};
    for (const RegionSetup& region : store.elsewhere) {
        check_name(regions, region.name, "a region of " + of);
    }
}

void check_limit(const LimitSetup& limit) {
    const std::string of = "the limit " + quoted(limit.name);
    if (limit.burst < 0 || limit.burst > max_limit) {
        refuse(of + " has a burst of " + std::to_string(limit.burst) + ": it is 0 to " +
               std::to_string(max_limit));
    }
    if ((limit.burst != 0 ? 1 : 0) + (limit.window != "first" ? 1 : 0) + (limit.running ? 1 : 0) > 1) {
        refuse(of + " has more than one of a burst, windows of the clock, and requests that run");
    }
    if (limit.lease > static_cast<std::uint64_t>(max_lease)) {
        refuse(of + " has a lease of " + std::to_string(limit.lease) + " tokens: it is 0 to " +
               std::to_string(max_lease));
    }
}

}  // namespace

const Setup& checked(const Setup& setup) {
    if (setup.zone_size < Zone::least_size) {
        refuse("a zone of " + std::to_string(setup.zone_size) + " bytes is too small: it has " +
               std::to_string(Zone::least_size) + " or more");
    }
    std::set<std::string> stores;
    for (const StoreSetup& store : setup.stores) {
        check_name(stores, store.name, "a store");
        check_store(store);
    }
    std::map<std::string, std::set<std::string>> limits;  // by the kind of their windows
    for (const LimitSetup& limit : setup.limits) {
        check_name(limits[limit.window], limit.name, "a limit");
        check_limit(limit);
    }
    return setup;
}

}  // namespace rate_limit::world
