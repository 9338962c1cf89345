#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

/// The content handler of a location with rate_limit_console.
ngx_int_t console_handler(ngx_http_request_t* r) noexcept;

}  // namespace rate_limit
