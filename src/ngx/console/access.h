#pragma once

#include "ngx/base/ngx.h"
#include "ngx/conf/conf.h"

namespace rate_limit {

/// Whether this client may see the console, by the directive's parameters and the request's Host. Null: it
/// may; else a sentence that says why not, and what to configure.
const char* why_forbidden(ngx_http_request_t& r, const ConsoleConf& conf) noexcept;

/// Whether a page of another origin may have made the browser send this. A client that is no browser sends
/// neither Sec-Fetch-Site nor Origin, and is none.
bool is_cross_origin(const ngx_http_request_t& r) noexcept;

}  // namespace rate_limit
