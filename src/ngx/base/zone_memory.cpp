#include "ngx/base/zone_memory.h"

#include <new>

namespace rate_limit {

namespace {

ngx_str_t zone_name = ngx_string("ngx_http_rate_limit_module");

/// A zone that nginx has been asked for.
struct AskedZone {
    Zone zone;
    std::size_t size;
    ngx_cycle_t* cycle;  // the configuration that asked
};

/// The zone of the running configuration; null if it has none. A tag other than this module's means that
/// another copy of the module made it.
const ngx_shm_zone_t* running_zone() noexcept {
    const ngx_shm_zone_t* found = nullptr;
    for_running_zones([&found](const ngx_shm_zone_t& zone) {
        found = view(zone.shm.name) == view(zone_name) ? &zone : found;
    });
    return found;
}

/// nginx keeps the memory only for the same size and the same copy of the module.
ngx_int_t compare_with_running(const ngx_shm_zone_t& zone) noexcept {
    const ngx_shm_zone_t* before = running_zone();
    if (before == nullptr) {
        return NGX_OK;
    }
    if (before->tag != zone.tag) {
        ngx_log_error(NGX_LOG_WARN, zone.shm.log, 0,
                      "\"rate_limit_zone\" will be of another copy of this module: it starts anew, local "
                      "windows and waiting charges of before are forgotten");
        return NGX_OK;
    }
    if (ngx_process == NGX_PROCESS_SINGLE) {
        // nginx unmaps the old memory at once, while requests of this very process still use it.
        ngx_log_error(NGX_LOG_EMERG, zone.shm.log, 0,
                      "\"rate_limit_zone\" cannot get another size while nginx runs without a master "
                      "process: restart it, or keep %uz bytes",
                      before->shm.size);
        return NGX_ERROR;
    }
    ngx_log_error(NGX_LOG_WARN, zone.shm.log, 0,
                  "\"rate_limit_zone\" will be of %uz bytes, not %uz: it starts anew, local windows and "
                  "waiting charges of before are forgotten",
                  zone.shm.size, before->shm.size);
    return NGX_OK;
}

ngx_int_t create(AskedZone& asked, ngx_shm_zone_t& zone) noexcept {
    auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone.shm.addr);
    const std::size_t pages = pool->pfree * ngx_pagesize;
    void* memory = ngx_slab_alloc(pool, pages);  // fresh pages are all zero
    const auto* core =
        reinterpret_cast<const ngx_core_conf_t*>(ngx_get_conf(asked.cycle->conf_ctx, ngx_core_module));
    Zone::Made made{asked.size, static_cast<std::size_t>(core->worker_processes), {}, 0};
    if (memory == nullptr || !random_bytes(reinterpret_cast<unsigned char*>(&made.key), sizeof made.key) ||
        !random_bytes(reinterpret_cast<unsigned char*>(&made.machine), sizeof made.machine)) {
        ngx_log_error(NGX_LOG_EMERG, zone.shm.log, 0, "\"rate_limit_zone\": no %s",
                      memory == nullptr ? "memory: enlarge it" : "random numbers");
        return NGX_ERROR;
    }
    if (!asked.zone.create(memory, pages, made)) {
        ngx_log_error(NGX_LOG_EMERG, zone.shm.log, 0, "\"rate_limit_zone\" is too small: enlarge it");
        return NGX_ERROR;
    }
    return compare_with_running(zone);
}

/// nginx calls this with null for memory that it has just mapped, and with what the running configuration
/// asked for where that memory stays in use.
ngx_int_t init(ngx_shm_zone_t* zone, void* previous) noexcept {
    auto& asked = *static_cast<AskedZone*>(zone->data);
    if (previous == nullptr) {
        return create(asked, *zone);
    }
    if (asked.zone.adopt(static_cast<const AskedZone*>(previous)->zone)) {
        return NGX_OK;
    }
    ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                  "the memory of \"rate_limit_zone\" was made by another version of this module: restart "
                  "nginx, or give the zone another size");
    return NGX_ERROR;
}

}  // namespace

std::size_t running_zone_size() noexcept {
    const ngx_shm_zone_t* zone = running_zone();
    return zone == nullptr ? 0 : zone->shm.size;
}

/// nginx unmaps the memory in the master process after this call. The zone of another copy of the module is
/// not marked, as it may be laid out in another way: nobody tells what is left in it but
/// compare_with_running().
void mark_replaced(const Zone* next) noexcept {
    const ngx_shm_zone_t* before = running_zone();
    if (before == nullptr || before->tag != &ngx_http_rate_limit_module) {
        return;
    }
    const Zone& running = static_cast<const AskedZone*>(before->data)->zone;
    if (next == nullptr || !next->shares_memory(running)) {
        running.mark_replaced();
    }
}

/// Without a master process nginx would unload the other copy, whose timers and requests are in this very
/// process.
ngx_int_t admit_copy(ngx_conf_t* cf) noexcept {
    const ngx_shm_zone_t* before = running_zone();
    if (ngx_process != NGX_PROCESS_SINGLE || before == nullptr ||
        before->tag == &ngx_http_rate_limit_module) {
        return NGX_OK;
    }
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                  "another copy of ngx_http_rate_limit_module cannot be loaded while nginx runs "
                  "without a master process: restart it, or load the same file");
    return NGX_ERROR;
}

Zone* ask_for_zone(ngx_conf_t* cf, std::size_t size) noexcept {
    ngx_shm_zone_t* zone = ngx_shared_memory_add(cf, &zone_name, size, &ngx_http_rate_limit_module);
    void* memory = zone != nullptr ? ngx_palloc(cf->pool, sizeof(AskedZone)) : nullptr;
    if (memory == nullptr) {
        return nullptr;
    }
    auto* asked = new (memory) AskedZone{{}, size, cf->cycle};
    zone->init = init;
    zone->data = asked;
    return &asked->zone;
}

/// The running configuration's pool, in which names and zones lie, ends before the memory does.
ngx_int_t keep_running_memory(ngx_cycle_t& cycle) noexcept {
    ngx_int_t result = NGX_OK;
    for_running_zones([&](const ngx_shm_zone_t& running) {
        if (running.tag != &ngx_http_rate_limit_module) {
            return;
        }
        ngx_str_t name = running.shm.name;
        name.data = ngx_pstrdup(cycle.pool, &name);
        const bool is_zone = running.init == init;
        void* zone = is_zone ? ngx_palloc(cycle.pool, sizeof(AskedZone)) : nullptr;
        auto* kept = static_cast<ngx_shm_zone_t*>(ngx_list_push(&cycle.shared_memory));
        if (name.data == nullptr || kept == nullptr || (is_zone && zone == nullptr)) {
            result = NGX_ERROR;
            return;
        }
        *kept = running;
        kept->shm.name = name;
        kept->shm.log = cycle.log;
        kept->data = is_zone ? new (zone) AskedZone(*static_cast<const AskedZone*>(running.data)) : nullptr;
    });
    return result;
}

void* share_memory(ngx_conf_t* cf, std::string_view name, std::size_t size) noexcept {
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, sizeof(ngx_shm_t));
    if (cleanup == nullptr) {
        return nullptr;
    }
    auto* memory = new (cleanup->data) ngx_shm_t{};
    memory->size = size;
    memory->log = cf->cycle->log;
    memory->name = str(name);
    if (ngx_shm_alloc(memory) != NGX_OK) {
        return nullptr;
    }
    cleanup->handler = [](void* shared) noexcept { ngx_shm_free(static_cast<ngx_shm_t*>(shared)); };
    return memory->addr;
}

}  // namespace rate_limit
