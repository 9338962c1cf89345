#include "ngx/conf/late_watch.h"

#include <new>

#include "ngx/conf/conf.h"

namespace rate_limit {

ngx_int_t share_watches(ngx_conf_t* cf, MainConf& main) noexcept {
    if (main.limits.empty()) {
        return NGX_OK;
    }
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, sizeof(ngx_shm_t));
    if (cleanup == nullptr) {
        return NGX_ERROR;
    }
    auto* memory = static_cast<ngx_shm_t*>(cleanup->data);
    ngx_memzero(memory, sizeof(ngx_shm_t));
    memory->size = main.limits.size() * sizeof(std::atomic<std::uint32_t>);
    memory->log = cf->cycle->log;
    ngx_str_set(&memory->name, "rate_limit_watches");
    if (ngx_shm_alloc(memory) != NGX_OK) {
        return NGX_ERROR;
    }
    cleanup->handler = [](void* data) noexcept { ngx_shm_free(static_cast<ngx_shm_t*>(data)); };
    auto* told = reinterpret_cast<std::atomic<std::uint32_t>*>(memory->addr);
    for (const Limit* limit : main.limits) {
        LateWatch& watch = *line_of(*limit).watch;
        if (!watch.is_shared()) {
            watch.share(*new (told++) std::atomic<std::uint32_t>(0), main.line_count++);
        }
    }
    return NGX_OK;
}

}  // namespace rate_limit
