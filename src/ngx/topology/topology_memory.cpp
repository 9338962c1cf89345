#include "ngx/topology/topology_memory.h"

#include <new>
#include <string>

#include "core/topology/shared_topology.h"
#include "limiter/topology/topology_source.h"
#include "ngx/base/zone_memory.h"
#include "ngx/conf/conf.h"
#include "ngx/redis_block/address.h"

namespace rate_limit {

namespace {

/// Room for a cluster of a thousand nodes in any state of a migration. Pages that are not written cost
/// nothing.
constexpr std::size_t memory_size = std::size_t{1} * 1024 * 1024;

constexpr std::string_view name_prefix = "ngx_http_rate_limit_module topology of ";

/// Calls `call(zone)` for the memory of each topology of the running configuration.
template <typename Call>
void for_running(Call&& call) {
    for_running_zones([&call](const ngx_shm_zone_t& zone) {
        if (zone.tag == &ngx_http_rate_limit_module &&
            view(zone.shm.name).substr(0, name_prefix.size()) == name_prefix) {
            call(zone);
        }
    });
}

/// Takes over what the running configuration has found for a store of this name that asks one of the same
/// servers. Masters that this store does not name may be among it: each store that reads it looks for its
/// own.
void inherit(const StoreConf& store) noexcept {
    try {
        std::string bytes;
        for_running([&](const ngx_shm_zone_t& zone) {
            const auto* before = static_cast<const StoreConf*>(zone.data);  // null: kept for an older one
            std::uint64_t generation = 0;
            if (before == nullptr || before->name != store.name ||
                !(share_node(before->sentinels, store.sentinels) || share_node(before->seeds, store.seeds)) ||
                !before->topology->read(bytes, generation)) {
                return;
            }
            if (store.topology->take_turn(0, 0)) {
                store.topology->publish(bytes);
                store.topology->leave_turn();
            }
        });
    } catch (...) {
        // without memory the sentinels, or the seeds, say all anew
    }
}

/// The part of nginx's memory that is ours. nginx's allocator takes all free pages at once, so the second
/// call for one memory finds the same place in `pool->data`.
ngx_int_t init_topology(ngx_shm_zone_t* zone, void* /*previous*/) noexcept {
    const auto& store = *static_cast<const StoreConf*>(zone->data);
    SharedTopology& topology = *store.topology;
    auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
    topology.set_user(lock_user());
    const bool fresh = pool->data == nullptr;
    const std::size_t pages = fresh ? pool->pfree * ngx_pagesize : 0;
    if (fresh) {
        pool->data = ngx_slab_alloc(pool, pages);
    }
    const auto* end = reinterpret_cast<const char*>(zone->shm.addr) + zone->shm.size;
    const std::size_t room = fresh ? pages : static_cast<std::size_t>(end - static_cast<char*>(pool->data));
    if (pool->data != nullptr &&
        (fresh ? topology.create(pool->data, room) : topology.attach(pool->data, room))) {
        if (fresh) {
            inherit(store);
        }
        return NGX_OK;
    }
    ngx_log_error(
        NGX_LOG_EMERG, zone->shm.log, 0,
        "\"rate_limit_redis\": the memory \"%V\" was made by another version of this module: restart "
        "nginx",
        &zone->shm.name);
    return NGX_ERROR;
}

ngx_shm_zone_t* add_zone(ngx_conf_t* cf, std::string_view text) noexcept {
    ngx_str_t of = str(text);
    ngx_str_t name = {text.size(), ngx_pstrdup(cf->pool, &of)};
    return name.data != nullptr ? ngx_shared_memory_add(cf, &name, memory_size, &ngx_http_rate_limit_module)
                                : nullptr;
}

ngx_int_t reserve_topology(ngx_conf_t* cf, StoreConf& store) {
    void* memory = ngx_palloc(cf->pool, sizeof(SharedTopology));
    ngx_shm_zone_t* zone = add_zone(cf, std::string(name_prefix) + asked_servers(store));
    if (memory == nullptr || zone == nullptr) {
        return NGX_ERROR;
    }
    store.topology = new (memory) SharedTopology;
    zone->init = init_topology;
    zone->data = &store;
    return NGX_OK;
}

/// Keeps the memory of the running configuration that this one has no store for.
ngx_int_t keep_topologies(ngx_conf_t* cf) noexcept {
    ngx_int_t result = NGX_OK;
    for_running([&](const ngx_shm_zone_t& running) {
        ngx_shm_zone_t* zone = add_zone(cf, view(running.shm.name));
        if (zone == nullptr) {
            result = NGX_ERROR;
        } else if (zone->init == nullptr) {  // no store of this configuration has it
            zone->init = [](ngx_shm_zone_t* /*kept*/, void* /*previous*/) noexcept -> ngx_int_t {
                return NGX_OK;
            };
        }
    });
    return result;
}

}  // namespace

ngx_int_t reserve_topologies(ngx_conf_t* cf, const MainConf& main) noexcept {
    try {
        for (StoreConf* store : main.stores) {
            const bool discovers = !store->sentinels.empty() || !store->seeds.empty();
            if (discovers && reserve_topology(cf, *store) != NGX_OK) {
                return NGX_ERROR;
            }
        }
        return ngx_process == NGX_PROCESS_SINGLE ? keep_topologies(cf) : NGX_OK;
    } catch (...) {
        return NGX_ERROR;  // without memory
    }
}

}  // namespace rate_limit
