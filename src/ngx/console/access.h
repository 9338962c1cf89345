#pragma once

#include "ngx/conf/conf.h"

namespace rate_limit {

/// Whether this client may see the console, by the directive's parameters and the request's Host. Null: it
/// may; else a sentence that says why not, and what to configure.
const char* why_forbidden(ngx_http_request_t& r, const ConsoleConf& conf) noexcept;

}  // namespace rate_limit
