#include <new>

#include "limiter/store_conf.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/limit_log.h"

namespace rate_limit {

const Configuration* configuration_at_work() noexcept {
    return main_conf(ngx_cycle);
}

char* check_store_names(ngx_conf_t* cf, void* conf) noexcept {
    const auto& main = *static_cast<const MainConf*>(conf);
    for (const StoreName& name : Elements<const StoreName>(main.store_names)) {
        if (view(name.text) != "local" && find_store(main, view(name.text)) == nullptr) {
            ngx_log_error(
                NGX_LOG_EMERG, cf->log, 0,
                "unknown store \"%V\" of \"%V\" in %V:%ui: there is no block \"rate_limit_redis %V\"",
                &name.text, &name.directive, &name.file, name.line, &name.text);
            return failed;
        }
    }
    return NGX_CONF_OK;
}

void* create_main_conf(ngx_conf_t* cf) noexcept {
    ngx_pool_cleanup_t* end = ngx_pool_cleanup_add(cf->pool, sizeof(MainConf));
    if (end == nullptr) {
        return nullptr;
    }
    auto* main = new (end->data) MainConf{};
    end->handler = [](void* ended) noexcept { static_cast<MainConf*>(ended)->~MainConf(); };
    if (ngx_array_init(&main->store_names, cf->pool, 4, sizeof(StoreName)) != NGX_OK ||
        ngx_array_init(&main->answering, cf->pool, 4, sizeof(Answering)) != NGX_OK) {
        return nullptr;
    }
    main->zone_size = NGX_CONF_UNSET_SIZE;
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, sizeof(LimitLog));
    if (cleanup == nullptr) {
        return nullptr;
    }
    main->log = new (cleanup->data) LimitLog;
    cleanup->handler = [](void* log) noexcept { static_cast<LimitLog*>(log)->~LimitLog(); };
    return main;
}

}  // namespace rate_limit
