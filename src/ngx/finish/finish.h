#pragma once

#include "ngx/conf/conf.h"

namespace rate_limit {

/// Warns about stores that no limit uses. Runs when all of http is merged.
void warn_unused_stores(ngx_conf_t* cf, const MainConf& main) noexcept;

/// Asks nginx for the shared memory, if anything is limited.
ngx_int_t reserve_zone(ngx_conf_t* cf, MainConf& main) noexcept;

/// Gives every store its resolver and the memory that workers share. NGX_ERROR without memory.
ngx_int_t finish_stores(ngx_conf_t* cf, const MainConf& main) noexcept;

}  // namespace rate_limit
