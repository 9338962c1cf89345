#include "ngx/redis_block/regions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ngx/conf/conf.h"
#include "ngx/conf/value.h"
#include "ngx/redis_block/block_reading.h"
#include "ngx/redis_block/redis_shards.h"
#include "ngx/redis_block/store_block.h"

namespace rate_limit {

namespace {

/// The block is read: the error names the place of the region, not of the block's end.
template <typename... Arguments>
char* refuse_region(ngx_conf_t* cf, const StoreBlock& region, const char* format,
                    Arguments... arguments) noexcept {
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0, format, arguments..., &region.file, region.line);
    return failed;
}

char* set_line_of_region(ngx_conf_t* cf, StoreBlock& region) {
    return view(words_of(cf)[0]) == "shard" ? set_shard(cf, region) : set_sentinel(cf, region);
}

StoreBlock* find_region(const StoreBlock& store, std::string_view name) noexcept {
    const auto found = std::find_if(store.regions.begin(), store.regions.end(),
                                    [name](const StoreBlock* region) { return region->region == name; });
    return found != store.regions.end() ? *found : nullptr;
}

/// Primaries are written here alone.
char* check_shards(ngx_conf_t* cf, const StoreBlock& region, const StoreBlock& here) {
    const bool is_here = &region == &here;
    for (const ShardConf& shard : region.shards) {
        if (!is_here && shard.names_primary()) {
            return refuse_region(cf, region,
                                 "shard \"%s\" of \"region %s\" has \"primary=\", and only primaries of "
                                 "\"here %s\" are written: name a replica of it, that stands near, by "
                                 "\"replica=\" in %V:%ui",
                                 shard.name.c_str(), region.region.c_str(), here.region.c_str());
        }
        if (!is_here && !shard.discovered() && shard.replicas.empty()) {
            return refuse_region(cf, region,
                                 "shard \"%s\" of \"region %s\" has no replica: add \"replica=HOST:PORT\" in "
                                 "%V:%ui",
                                 shard.name.c_str(), region.region.c_str());
        }
        if (is_here && !shard.discovered() && !shard.names_primary()) {
            return refuse_region(cf, region,
                                 "shard \"%s\" of \"region %s\" has no primary, and that region is \"here\": "
                                 "add \"primary=HOST:PORT\" in %V:%ui",
                                 shard.name.c_str(), region.region.c_str());
        }
    }
    return NGX_CONF_OK;
}

char* check_sentinels(ngx_conf_t* cf, const StoreBlock& region) {
    const char* name = region.region.c_str();
    if (region.shards.empty()) {
        return refuse_region(
            cf, region, "\"region %s\" has no shard: add those that the other regions have in %V:%ui", name);
    }
    const bool discovered = region.shards.front().discovered();
    if (discovered && region.sentinels.empty()) {
        return refuse_region(cf, region,
                             "\"region %s\" has \"master=\" and no sentinels to ask for it: add \"sentinel "
                             "HOST:PORT …\" to it in %V:%ui",
                             name);
    }
    if (!discovered && !region.sentinels.empty()) {
        return refuse_region(cf, region,
                             "\"region %s\" has \"sentinel\", and its shards have addresses: write \"shard "
                             "NAME master=MASTER\", or remove \"sentinel\" in %V:%ui",
                             name);
    }
    return NGX_CONF_OK;
}

/// Those of its shards; sentinels may watch the masters of several regions.
std::vector<const NodeConf*> servers_of(const StoreBlock& region) {
    std::vector<const NodeConf*> servers;
    for (const ShardConf& shard : region.shards) {
        if (shard.names_primary()) {
            servers.push_back(&shard.primary);
        }
        for (const NodeConf& replica : shard.replicas) {
            servers.push_back(&replica);
        }
    }
    return servers;
}

/// A server that two regions name would count twice in each check.
char* compare_servers(ngx_conf_t* cf, const StoreBlock& region, const StoreBlock& other) {
    if (region.shards.front().discovered() && share_primary(region, other)) {
        return refuse_region(cf, region,
                             "\"region %s\" has a master that \"region %s\" has, of the same sentinels: give "
                             "it a master of its own in %V:%ui",
                             region.region.c_str(), other.region.c_str());
    }
    const std::vector<const NodeConf*> others = servers_of(other);
    for (const NodeConf* server : servers_of(region)) {
        if (std::any_of(others.begin(), others.end(),
                        [server](const NodeConf* one) { return share_address(*server, *one); })) {
            return refuse_region(cf, region,
                                 "\"%s\" of \"region %s\" is a server of \"region %s\", too: each region has "
                                 "servers of its own; give the address of another one in %V:%ui",
                                 server->text.c_str(), region.region.c_str(), other.region.c_str());
        }
    }
    return NGX_CONF_OK;
}

char* check_regions(ngx_conf_t* cf, const StoreBlock& store, const StoreBlock& here) {
    for (const StoreBlock* region : store.regions) {
        if (check_sentinels(cf, *region) != NGX_CONF_OK || check_shards(cf, *region, here) != NGX_CONF_OK) {
            return failed;
        }
        for (const StoreBlock* const* other = store.regions.data(); *other != region; ++other) {
            if (compare_servers(cf, *region, **other) != NGX_CONF_OK) {
                return failed;
            }
        }
    }
    return NGX_CONF_OK;
}

}  // namespace

/// region NAME { … }
char* set_region(ngx_conf_t* cf, StoreBlock& store) {
    if (cf->args->nelts != 2) {
        return refuse(cf, "\"region\" takes a name and a block: region NAME { shard … }");
    }
    const ngx_str_t name = words_of(cf)[1];
    if (!is_name(view(name), 64)) {
        return refuse_value(cf, "name", name, "a name is 1 to 64 of A-Z a-z 0-9 _ . -");
    }
    if (find_region(store, view(name)) != nullptr) {
        return refuse(cf, "duplicate \"region %V\": every region needs a name of its own", &name);
    }
    auto* region = make<StoreBlock>(*cf->pool);
    if (region == nullptr) {
        return failed;
    }
    region->region.assign(view(name));
    region->file = cf->conf_file->file.name;
    region->line = cf->conf_file->line;
    store.regions.push_back(region);
    region->ended = false;
    char* const result = read_block(cf, *region, {"shard", "sentinel"}, {}, set_line_of_region);
    region->ended = result == NGX_CONF_OK;
    return result;
}

/// here NAME
char* set_here(ngx_conf_t* cf, StoreBlock& store) {
    const ngx_str_t& name = words_of(cf)[1];
    if (!is_name(view(name), 64)) {
        return refuse_value(cf, "name", name, "it is the name of a \"region\"");
    }
    store.region.assign(view(name));
    return NGX_CONF_OK;
}

char* take_servers_here(ngx_conf_t* cf, StoreBlock& store) {
    const char* name = store.name.c_str();
    if (store.regions.empty() && store.region.empty()) {
        return NGX_CONF_OK;
    }
    if (store.regions.empty()) {
        return refuse(cf,
                      "\"rate_limit_redis %s\" has \"here %s\" and no regions: add \"region %s { shard … }\" "
                      "and one for each other region, or remove \"here\"",
                      name, store.region.c_str(), store.region.c_str());
    }
    if (store.region.empty()) {
        return refuse(cf,
                      "\"rate_limit_redis %s\" has regions, and none is here: add \"here %s\", or the other "
                      "one, if this machine stands there",
                      name, store.regions.front()->region.c_str());
    }
    if (!store.shards.empty() || !store.sentinels.empty() || !store.seeds.empty()) {
        return refuse(cf, "\"rate_limit_redis %s\" has regions, and \"%s\" outside of them: %s", name,
                      !store.shards.empty()      ? "shard"
                      : !store.sentinels.empty() ? "sentinel"
                                                 : "cluster",
                      store.seeds.empty() ? "move it into its \"region\""
                                          : "a cluster cannot be read so; name shards in each \"region\"");
    }
    StoreBlock* here = find_region(store, store.region);
    if (here == nullptr) {
        return refuse(cf, "\"here %s\" names no region of \"rate_limit_redis %s\": add \"region %s { … }\"",
                      store.region.c_str(), name, store.region.c_str());
    }
    if (store.regions.size() < 2) {
        return refuse(cf,
                      "\"rate_limit_redis %s\" has no region but \"here %s\": add the other ones, or write "
                      "its shards without \"region\" and \"here\"",
                      name, store.region.c_str());
    }
    if (check_regions(cf, store, *here) != NGX_CONF_OK) {
        return failed;
    }
    store.shards = std::move(here->shards);
    store.sentinels = std::move(here->sentinels);
    store.regions.erase(std::find(store.regions.begin(), store.regions.end(), here));
    return NGX_CONF_OK;
}

char* add_regions(ngx_conf_t* cf, MainConf& main, StoreBlock& store) {
    for (StoreBlock* region : store.regions) {
        region->tls = store.tls;
        if (!join_region(*region, store)) {
            return refuse_region(cf, *region,
                                 "the shards of \"region %s\" are not those of \"here %s\": give all regions "
                                 "shards of the same names and weights in %V:%ui",
                                 region->region.c_str(), store.region.c_str());
        }
        main.stores.push_back(region);
    }
    return NGX_CONF_OK;
}

}  // namespace rate_limit
