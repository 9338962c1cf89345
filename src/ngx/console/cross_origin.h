#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

/// Whether a page of another origin may have made the browser send this. A client that is no browser sends
/// neither Sec-Fetch-Site nor Origin, and is none.
bool is_cross_origin(const ngx_http_request_t& r) noexcept;

}  // namespace rate_limit
