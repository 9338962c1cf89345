#include "ngx/topology/topology_memory.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "core/topology/shared_topology.h"
#include "ngx/conf/conf.h"
#include "ngx/redis_block/address.h"

namespace rate_limit {

namespace {

/// Room for a cluster of a thousand nodes in any state of a migration. Pages that are not written cost
/// nothing.
constexpr std::size_t memory_size = std::size_t{1} * 1024 * 1024;

constexpr std::string_view name_prefix = "ngx_http_rate_limit_module topology of ";

LockUser this_process() noexcept {
    return lock_user();
}

void append_sorted(std::string& name, std::string_view of, std::vector<std::string_view> words) {
    std::sort(words.begin(), words.end());
    name.append(of);
    for (const std::string_view word : words) {
        name.append(" ").append(word);
    }
}

/// Two configurations with the same name share the memory. Neither a store's name nor a master's has spaces.
std::string memory_name(const StoreConf& store) {
    std::vector<std::string_view> asked;
    std::vector<std::string_view> masters;
    for (const NodeConf& node : store.seeds.empty() ? store.sentinels : store.seeds) {
        asked.emplace_back(node.text);
    }
    for (const ShardConf& shard : store.shards) {
        masters.emplace_back(shard.master);
    }
    std::string name(name_prefix);
    name.append(store.name);
    append_sorted(name, store.seeds.empty() ? ", sentinels" : ", cluster", std::move(asked));
    if (store.seeds.empty()) {
        append_sorted(name, ", masters", std::move(masters));
    }
    return name;
}

/// Calls `call(zone)` for the memory of each topology of the running configuration.
template <typename Call>
void for_running(Call&& call) {
    const auto* part = const_cast<const ngx_list_part_t*>(&ngx_cycle->shared_memory.part);
    for (; part != nullptr; part = part->next) {
        for (const ngx_shm_zone_t& zone : Elements<const ngx_shm_zone_t>(*part)) {
            if (zone.tag == &ngx_http_rate_limit_module &&
                view(zone.shm.name).substr(0, name_prefix.size()) == name_prefix) {
                call(zone);
            }
        }
    }
}

bool share_node(const std::vector<NodeConf>& some, const std::vector<NodeConf>& others) noexcept {
    for (const NodeConf& one : some) {
        for (const NodeConf& other : others) {
            if (one.text == other.text || share_address(one, other)) {
                return true;
            }
        }
    }
    return false;
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
ngx_int_t init(ngx_shm_zone_t* zone, void* /*previous*/) noexcept {
    const auto& store = *static_cast<const StoreConf*>(zone->data);
    SharedTopology& topology = *store.topology;
    auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
    topology.set_user(this_process());
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
    ngx_str_t name;
    name.len = text.size();
    name.data = static_cast<u_char*>(ngx_pnalloc(cf->pool, name.len));
    if (name.data == nullptr) {
        return nullptr;
    }
    ngx_memcpy(name.data, text.data(), name.len);
    return ngx_shared_memory_add(cf, &name, memory_size, &ngx_http_rate_limit_module);
}

ngx_int_t reserve_topology(ngx_conf_t* cf, StoreConf& store) {
    void* memory = ngx_palloc(cf->pool, sizeof(SharedTopology));
    ngx_shm_zone_t* zone = add_zone(cf, memory_name(store));
    if (memory == nullptr || zone == nullptr) {
        return NGX_ERROR;
    }
    store.topology = new (memory) SharedTopology;
    zone->init = init;
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
