#pragma once

#include "limiter/request/late_watch.h"
#include "ngx/request/context.h"

namespace rate_limit {

// Values that are not there when they are needed, and are when the request ends: limits that do not apply, or
// costs that count wrong, without anybody's intent.

/// A value of the limit is empty, or a cost counts as `counted` because it is empty or 0: lets the end of the
/// request look at it again, now and then.
void note_missing(const RequestContext& context, const LimitLine& limit, Missing what,
                  std::int64_t counted = 0) noexcept;

/// The request ends: looks at what is noted of it, and logs what is there now, once for each line.
void look_at_missing(ngx_http_request_t* r) noexcept;

/// Counts whether the request has a key for the limit: for each line once, however many locations redirects
/// take it to. A report is no request that a limit could count.
void count_key(RequestContext& context, const LimitLine& limit, bool has_key) noexcept;

}  // namespace rate_limit
