#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

/// rate_limit_redis NAME { … }
char* set_redis_block(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

}  // namespace rate_limit
