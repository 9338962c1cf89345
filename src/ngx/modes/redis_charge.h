#pragma once

#include "ngx/modes/applied_limit.h"

namespace rate_limit {

/// The request leaves a limit of a Redis store and owes it `cost`, not 0, which counts here from now on, in
/// place of what the request held here. The caller sees to it that the primary gets it.
Charge owe(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept;

/// Likewise, and sends it.
void charge_redis(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept;

}  // namespace rate_limit
