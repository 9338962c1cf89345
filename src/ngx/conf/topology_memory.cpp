#include "ngx/conf/topology_memory.h"

#include <new>

#include "core/topology/shared_topology.h"

namespace rate_limit {

namespace {

/// Room for a cluster of a thousand nodes in any state of a migration. Pages that are not written cost
/// nothing.
constexpr std::size_t memory_size = std::size_t{1} * 1024 * 1024;

LockUser this_process() noexcept {
    return {process_of(static_cast<std::uint32_t>(ngx_pid)), is_alive};
}

/// The part of nginx's memory that is ours. nginx's allocator takes all free pages at once, so the second
/// call for one memory finds the same place in `pool->data`.
ngx_int_t init(ngx_shm_zone_t* zone, void* previous) noexcept {
    auto& topology = *static_cast<SharedTopology*>(zone->data);
    auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
    topology.set_user(this_process());
    const bool fresh = previous == nullptr && pool->data == nullptr;
    const std::size_t pages = fresh ? pool->pfree * ngx_pagesize : 0;
    if (fresh) {
        pool->data = ngx_slab_alloc(pool, pages);
    }
    const auto* end = reinterpret_cast<const char*>(zone->shm.addr) + zone->shm.size;
    const std::size_t room = fresh ? pages : static_cast<std::size_t>(end - static_cast<char*>(pool->data));
    if (pool->data != nullptr &&
        (fresh ? topology.create(pool->data, room) : topology.attach(pool->data, room))) {
        return NGX_OK;
    }
    ngx_log_error(
        NGX_LOG_EMERG, zone->shm.log, 0,
        "\"rate_limit_redis\": the memory \"%V\" was made by another version of this module: restart "
        "nginx",
        &zone->shm.name);
    return NGX_ERROR;
}

}  // namespace

ngx_int_t reserve_topology(ngx_conf_t* cf, StoreConf& store) {
    const std::string text = "ngx_http_rate_limit_module topology of " + store.name;
    ngx_str_t name;
    name.len = text.size();
    name.data = static_cast<u_char*>(ngx_pnalloc(cf->pool, name.len));
    void* memory = ngx_palloc(cf->pool, sizeof(SharedTopology));
    if (name.data == nullptr || memory == nullptr) {
        return NGX_ERROR;
    }
    ngx_memcpy(name.data, text.data(), name.len);
    store.topology = new (memory) SharedTopology;
    ngx_shm_zone_t* zone = ngx_shared_memory_add(cf, &name, memory_size, &ngx_http_rate_limit_module);
    if (zone == nullptr) {
        return NGX_ERROR;
    }
    zone->init = init;
    zone->data = store.topology;
    return NGX_OK;
}

}  // namespace rate_limit
