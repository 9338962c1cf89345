#pragma once

#include <string_view>

#include "limiter/kinds/applied_limit.h"

namespace rate_limit {

/// The text of `$rate_limit_source`: whose word decided the limit. `memory`: what this machine remembers, or
/// a store that it is itself; `tokens`: a lease; `replica` or `primary`: the node that answered in time;
/// `none`: no node was to be asked, because the configuration alone decides, or none answered, and
/// rate_limit_on_error decided without knowing the window.
std::string_view decided_by(AppliedLimit& applied) noexcept;

}  // namespace rate_limit
