#include "t/world/configured.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/limit/bucket.h"
#include "core/overrides/known_overrides.h"
#include "limiter/kinds/bucket.h"
#include "limiter/kinds/slots.h"
#include "limiter/modes/mode.h"
#include "limiter/overrides/effect.h"
#include "limiter/store/store.h"
#include "limiter/store_conf.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"
#include "t/world/network.h"

namespace rate_limit::world {

namespace {

NodeConf node_of(const std::string& address) {
    NodeConf node;
    node.text = address;
    const auto colon = address.rfind(':');
    node.peer = address.substr(0, colon);
    const std::string* const leads_to = Network::find_host(node.peer);
    node.host = leads_to != nullptr ? node.peer : "";
    node.addresses.push_back(address_of(leads_to != nullptr ? *leads_to + address.substr(colon) : address));
    node.port = ntohs(reinterpret_cast<const sockaddr_in&>(node.addresses.front().sockaddr).sin_port);
    return node;
}

/// The one of this name among all, which null ends.
template <typename Named>
const Named* called(const std::string& name, const Named* const* all, const char* noun) {
    for (; *all != nullptr; ++all) {
        if ((*all)->name == name) {
            return *all;
        }
    }
    throw std::invalid_argument(std::string("there is no ") + noun + " \"" + name + "\"");
}

}  // namespace

Configured::Configured(const Setup& of, Zone& for_zone, std::deque<SharedState>& shared_overrides,
                       const std::vector<SharedTopology>& topologies)
    : on_error_(of.on_error), shared_overrides_(shared_overrides), topologies_(topologies) {
    zone = &for_zone;
    for (const StoreSetup& store : checked(of).stores) {
        add_store(store);
    }
    for (const LimitSetup& limit : of.limits) {
        add_limit(limit);
    }
}

Configured::~Configured() {
    end_stores(*this);
    delete overrides;
    delete tallies;
}

void Configured::add_store(const StoreSetup& setup) {
    StoreConf& store = store_confs_.emplace_back();
    const std::size_t number = store_number_++;
    if (shared_overrides_.size() <= number) {
        shared_overrides_.emplace_back();
    }
    store.name = setup.name;
    store.check_timeout = setup.check_timeout;
    store.charge_timeout = setup.charge_timeout;
    store.connect_timeout = setup.connect_timeout;
    store.fresh = setup.fresh;
    store.read_from = setup.read_from;
    store.login.password = setup.password;
    store.login.file = setup.password_file;
    store.sentinel_login.password = setup.sentinel_password;
    store.sentinel_login.file = setup.sentinel_password_file;
    store.database = setup.database;
    store.encrypted = setup.encrypted;
    store.resolves_again = setup.resolves;
    store.shares_overrides = setup.shares_overrides;
    store.shared_overrides = setup.shares_overrides ? &shared_overrides_[number] : nullptr;
    store.used = true;
    store.zone = zone;
    for (const std::string& sentinel : setup.sentinels) {
        store.sentinels.push_back(node_of(sentinel));
    }
    for (const std::string& seed : setup.seeds) {
        store.seeds.push_back(node_of(seed));
    }
    store.routes = Routes(store.name);
    if (setup.discovers()) {
        use_topology(store);
    }
    stores.push_back(&store);
    if (!setup.seeds.empty()) {
        ShardConf& all = store.shards.emplace_back();
        all.name = "cluster";
        all.in_cluster = true;
        all.warned = &warnings_.emplace_back();
        store.routes.use_slots();
        return;
    }
    add_shards(store, setup.shards, true);
    for (const ShardConf& shard : store.shards) {
        store.routes.add_shard(shard.name, shard.weight);
    }
    add_regions(store, setup);
}

void Configured::use_topology(StoreConf& store) {
    if (discovering_ < topologies_.size()) {
        store.topology = &topologies_[discovering_++];
    }
}

void Configured::add_regions(StoreConf& store, const StoreSetup& setup) {
    store.region = setup.here;
    for (const RegionSetup& each : setup.elsewhere) {
        StoreConf& region = store_confs_.emplace_back();
        region.region = each.name;
        region.used = true;
        region.zone = zone;
        for (const std::string& sentinel : each.sentinels) {
            region.sentinels.push_back(node_of(sentinel));
        }
        if (!each.sentinels.empty()) {
            use_topology(region);
        }
        add_shards(region, each.shards, false);
        if (!join_region(region, store)) {
            throw std::invalid_argument("the shards of the region " + each.name + " are not those of here");
        }
        stores.push_back(&region);
    }
}

void Configured::add_shards(StoreConf& store, const std::vector<ShardSetup>& shards, bool here) {
    for (const ShardSetup& shard : shards) {
        ShardConf& conf = store.shards.emplace_back();
        conf.name = shard.name;
        conf.master = shard.master;
        conf.warned = &warnings_.emplace_back();
        if (shard.master.empty() && here) {
            conf.primary = node_of(shard.primary);
            store.resolves_again = store.resolves_again || !conf.primary.host.empty();
        }
        for (const std::string& replica : shard.replicas) {
            conf.replicas.push_back(node_of(replica));
            store.resolves_again = store.resolves_again || !conf.replicas.back().host.empty();
        }
    }
}

void Configured::add_limit(const LimitSetup& setup) {
    Limit limit{};
    limit.name = texts_.emplace_back(setup.name);
    limit.kind = setup.running      ? &running_slots
                 : setup.burst != 0 ? &token_buckets
                                    : called(setup.window, named_windows, "window");
    const RateError error = limit.kind->parse(setup.rate, limit.kind->window_kind, limit.rate);
    if (error != RateError::none) {
        throw std::invalid_argument(setup.rate + ": " + describe(error));
    }
    limit.burst = setup.burst;
    limit.delay = setup.delay;
    limit.mode = limit.kind->mode != nullptr ? limit.kind->mode : called(setup.mode, named_modes, "mode");
    if (limit.burst != 0 && limit.mode->redis_bucket == nullptr) {
        throw std::invalid_argument("the mode " + setup.mode + " counts by no bucket");
    }
    const char* const wrong =
        limit.burst != 0 && limit.rate.limit != 0 ? why_no_bucket(limit.rate, limit.burst) : nullptr;
    if (wrong != nullptr) {
        throw std::invalid_argument("the limit " + setup.name + ": " + wrong);
    }
    limit.enforced = setup.enforced;
    limit.reserves = setup.reserves;
    limit.penalty = setup.penalty;
    limit.lease = setup.lease;
    limit.local = setup.store == "local";
    limit.store = limit.local ? nullptr : find_store(*this, setup.store);
    if (!limit.local && limit.store == nullptr) {
        throw std::invalid_argument("the limit " + setup.name + " needs the store \"" + setup.store +
                                    "\", and there is none of this name");
    }
    const char* const unfit =
        limit.store != nullptr && limit.store->has_regions() ? why_not_over_regions(limit) : nullptr;
    if (unfit != nullptr) {
        throw std::invalid_argument("the limit " + setup.name + " " + unfit);
    }
    std::string& head = texts_.emplace_back(head_room(limit.store, limit.name), '\0');
    const char* const end = write_head(head.data(), limit.store, limit.name, limit.rate.period,
                                       limit.kind_at(limit.rate, limit.burst != 0));
    limit.head = {head.data(), static_cast<std::size_t>(end - head.data())};
    limits.push_back(&all_limits_.emplace_back(limit));
}

}  // namespace rate_limit::world
