#pragma once

#include <cstdint>

#include "ngx/base/ngx.h"

namespace rate_limit {

struct AppliedLimit;

/// The number by which `$rate_limit_id`, the log line of a rejection and the console name a client of one
/// limit, without saying who that is: see limiter/client_id.h. Computed anew at each call. 0 without memory.
std::uint64_t client_id(ngx_http_request_t* r, const AppliedLimit& applied) noexcept;

}  // namespace rate_limit
