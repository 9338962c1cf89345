#pragma once

#include "ngx/request/context.h"

namespace rate_limit {

/// Counts whether the request has a key for the limit: for each line once, however many locations redirects
/// take it to. A report is no request that a limit could count.
void count_key(RequestContext& context, const LimitLine& limit, bool has_key) noexcept;

}  // namespace rate_limit
