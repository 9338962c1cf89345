#include <algorithm>
#include <new>

#include "limiter/store_conf.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/limit_log.h"

namespace rate_limit {

StoreConf* find_store(const MainConf& main, std::string_view name) noexcept {
    const Elements<StoreConf*> stores(main.stores);
    auto** const found = std::find_if(stores.begin(), stores.end(),
                                      [name](const StoreConf* store) { return store->name == name; });
    return found != stores.end() ? *found : nullptr;
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
    auto* main = static_cast<MainConf*>(ngx_pcalloc(cf->pool, sizeof(MainConf)));
    if (main == nullptr || ngx_array_init(&main->stores, cf->pool, 2, sizeof(StoreConf*)) != NGX_OK ||
        ngx_array_init(&main->store_names, cf->pool, 4, sizeof(StoreName)) != NGX_OK ||
        ngx_array_init(&main->limits, cf->pool, 16, sizeof(const Limit*)) != NGX_OK ||
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
