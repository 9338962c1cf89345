#pragma once

#include "limiter/kinds/applied_limit.h"

namespace rate_limit {

/// Whether a plain increment finds this window under its key, or none: a penalty keeps the key of a window
/// that has ended, and a primary that has not heard of this one may have that in its place.
bool finds_window(const AppliedLimit& applied, Millis reset, Millis now) noexcept;

/// Counts `cost` (not 0) in the record, in place of what the request held there, and returns what the caller
/// has to charge at the primary.
Charge owe(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept;

/// owe(), and sends the charge. Not where the primary may have charged the request already: then memory alone
/// counts it.
void charge_redis(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept;

}  // namespace rate_limit
