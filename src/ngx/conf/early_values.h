#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

struct LocationConf;

/// Warns, once for each key and line, about values of the location's limits that hold what is not known yet
/// when limits are checked. What a key holds of the response is told by check_keys().
void check_values(ngx_conf_t* cf, const LocationConf& conf) noexcept;

}  // namespace rate_limit
