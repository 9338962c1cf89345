#pragma once

#include <cstdint>

#include "ngx/base/ngx.h"

namespace rate_limit {

struct AppliedLimit;

/// What `$rate_limit_id`, the log line of a rejection and the console call a client of one limit, without
/// saying who that is: see ngx/base/client_id.h. Computed anew at each call. 0 without memory.
std::uint64_t client_id(ngx_http_request_t* r, const AppliedLimit& applied) noexcept;

}  // namespace rate_limit
