#include "operator/serving.h"

#include "ngx/base/ngx.h"
#include "ngx/base/version.h"

namespace rate_limit {

Serving serving() noexcept {
    const auto* core =
        reinterpret_cast<const ngx_core_conf_t*>(ngx_get_conf(ngx_cycle->conf_ctx, ngx_core_module));
    const ngx_str_t host = const_cast<const ngx_cycle_t*>(ngx_cycle)->hostname;
    return {module_version, NGINX_VERSION, view(host), core->worker_processes};
}

}  // namespace rate_limit
