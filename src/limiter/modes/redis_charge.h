#pragma once

#include "limiter/kinds/applied_limit.h"

namespace rate_limit {

/// Counts `cost` (not 0) in the record, in place of what the request held there, and returns what the caller
/// has to charge at the primary.
Charge owe(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept;

/// owe(), and sends the charge. Not where the primary may have charged the request already: then memory alone
/// counts it.
void charge_redis(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept;

}  // namespace rate_limit
