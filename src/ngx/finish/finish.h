#pragma once

#include "ngx/conf/conf.h"

namespace rate_limit {

/// Warns about stores that no limit uses. Runs when all of http is merged.
void warn_unused_stores(ngx_conf_t* cf, const MainConf& main) noexcept;

/// Asks nginx for the shared memory, if anything is limited.
ngx_int_t reserve_zone(ngx_conf_t* cf, MainConf& main) noexcept;

/// Gives every store its resolver and the memory that workers share. NGX_ERROR without memory.
ngx_int_t finish_stores(ngx_conf_t* cf, const MainConf& main) noexcept;

/// Warns about limits without a name that count in the same windows and differ in rate, burst, number or key.
/// Each pair of lines is told once at most; a line that many locations inherit is one.
void warn_shared_windows(ngx_conf_t* cf, const MainConf& main) noexcept;

/// Tells the time zone by which windows of the local time end, where there are such limits.
void tell_time_zone(ngx_conf_t* cf, const MainConf& main) noexcept;

/// Lets all workers tell once what they see of each line, and numbers the lines. Runs when all of http is
/// merged. NGX_ERROR without memory.
ngx_int_t share_watches(ngx_conf_t* cf, MainConf& main) noexcept;

}  // namespace rate_limit
