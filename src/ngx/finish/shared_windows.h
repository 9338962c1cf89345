#pragma once

#include "ngx/conf/conf.h"

namespace rate_limit {

/// Warns about limits without a name that count in the same windows and differ in rate, burst, number or key.
/// Each pair of lines is told once at most; a line that many locations inherit is one.
void warn_shared_windows(ngx_conf_t* cf, const MainConf& main) noexcept;

}  // namespace rate_limit
