#include "ngx/finish/finish.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "core/overrides/shared_state.h"
#include "ngx/base/zone_memory.h"
#include "ngx/redis_block/store_block.h"

namespace rate_limit {

namespace {

bool has_host_name(const NodeConf& node) noexcept {
    return !node.host.empty();
}

bool has_host_names(const StoreConf& store) noexcept {
    return std::any_of(store.sentinels.begin(), store.sentinels.end(), has_host_name) ||
           std::any_of(store.seeds.begin(), store.seeds.end(), has_host_name) ||
           std::any_of(store.shards.begin(), store.shards.end(), [](const ShardConf& shard) {
               return has_host_name(shard.primary) ||
                      std::any_of(shard.replicas.begin(), shard.replicas.end(), has_host_name);
           });
}

/// Whether a resolver has name servers: nginx keeps them in an array, Angie in a list.
template <typename Connections>
bool has_servers(const Connections& connections) noexcept {
    if constexpr (std::is_pointer_v<Connections>) {
        return connections != nullptr;
    } else {
        return connections.nelts != 0;
    }
}

/// The running configuration's state of the overrides that machines share by the store of this name; null: it
/// has none, or another copy of the module runs.
SharedState* running_state(std::string_view store) noexcept {
    const auto* const* module = const_cast<const ngx_module_t* const*>(ngx_cycle->modules);
    while (module != nullptr && *module != nullptr && *module != &ngx_http_rate_limit_module) {
        ++module;
    }
    const MainConf* running = module != nullptr && *module != nullptr ? main_conf(ngx_cycle) : nullptr;
    if (running == nullptr) {
        return nullptr;
    }
    for (const StoreConf* each : running->stores) {
        if (each->name == store) {
            return each->shared_overrides;
        }
    }
    return nullptr;
}

/// The last good ones hold over a reload, whatever has become of those in Redis.
void inherit_state(const StoreConf& store) noexcept {
    SharedState* before = store.shared_overrides != nullptr ? running_state(store.name) : nullptr;
    if (before != nullptr) {
        store.shared_overrides->inherit(*before);
    }
}

void unmap(void* data) noexcept {
    ngx_shm_free(static_cast<ngx_shm_t*>(data));
}

/// Maps memory for what has been told of each shard's primary, and for what workers know of shared overrides,
/// before the workers are started so that all see the same.
ngx_int_t share_flags(ngx_conf_t* cf, const MainConf& main) noexcept {
    std::size_t shards = 0;
    std::size_t states = 0;
    for (const StoreConf* store : main.stores) {
        shards += store->shards.size();
        states += store->shares_overrides ? 1 : 0;
    }
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, sizeof(ngx_shm_t));
    if (cleanup == nullptr) {
        return NGX_ERROR;
    }
    auto* memory = static_cast<ngx_shm_t*>(cleanup->data);
    ngx_memzero(memory, sizeof(ngx_shm_t));
    memory->size = states * sizeof(SharedState) + shards * sizeof(PrimaryWarnings);
    memory->log = cf->cycle->log;
    ngx_str_set(&memory->name, "rate_limit_flags");
    if (ngx_shm_alloc(memory) != NGX_OK) {
        return NGX_ERROR;
    }
    cleanup->handler = unmap;
    auto* state = reinterpret_cast<SharedState*>(memory->addr);
    auto* warnings = reinterpret_cast<PrimaryWarnings*>(state + states);
    for (StoreConf* store : main.stores) {
        store->shared_overrides = store->shares_overrides ? state++ : nullptr;
        inherit_state(*store);
        for (ShardConf& shard : store->shards) {
            shard.warned = warnings++;
        }
    }
    return NGX_OK;
}

}  // namespace

ngx_int_t reserve_zone(ngx_conf_t* cf, MainConf& main) noexcept {
    const std::size_t running = running_zone_size();
    if (main.limits.empty() && main.zone_size == NGX_CONF_UNSET_SIZE && running == 0) {
        return NGX_OK;
    }
    // A configuration without limits keeps the running zone, as the next one may need it.
    if (main.limits.empty() && main.zone_size == NGX_CONF_UNSET_SIZE) {
        main.zone_size = running;
    }
    ngx_conf_init_size_value(main.zone_size, Zone::default_size);
    main.zone = ask_for_zone(cf, main.zone_size);
    return main.zone != nullptr ? NGX_OK : NGX_ERROR;
}

ngx_int_t finish_stores(ngx_conf_t* cf, const MainConf& main) noexcept {
    auto* core =
        static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    const bool has_resolver = core->resolver != nullptr && has_servers(core->resolver->connections);
    for (StoreConf* each : main.stores) {
        StoreBlock& store = block_of(*each);
        store.zone = main.zone;
        if (has_resolver) {
            store.resolves_again = true;
            store.resolver = core->resolver;
            store.resolver_timeout = core->resolver_timeout;
            ngx_conf_init_msec_value(store.resolver_timeout, 30000);  // http's own is never merged
        } else if (has_host_names(store)) {
            ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                          "the host names of \"rate_limit_redis %s\" in %V:%ui are resolved only now: add "
                          "\"resolver\" to \"http\" to have them resolved again when a server moves",
                          store.name.c_str(), &store.file, store.line);
        }
    }
    return main.stores.empty() ? NGX_OK : share_flags(cf, main);
}

void warn_unused_stores(ngx_conf_t* cf, const MainConf& main) noexcept {
    for (const StoreConf* each : main.stores) {
        const StoreBlock* const store = &block_of(*each);
        if (!store->used) {
            ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                          "no limit uses \"rate_limit_redis %s\" in %V:%ui: add \"rate_limit_store %s\", or "
                          "limits stay per machine",
                          store->name.c_str(), &store->file, store->line, store->name.c_str());
        }
    }
}

}  // namespace rate_limit
