#pragma once

#include "ngx/request/context.h"

namespace rate_limit {

/// What one request costs, as the expressions of its limits say. A value that is no cost counts as 1, and is
/// logged.

/// Evaluates the cost of one limit before the request passes, if it is not a constant. It may turn out
/// different at the end: what variables say now is not kept.
void evaluate_cost_early(RequestContext& context, AppliedLimit& applied) noexcept;

/// Evaluates the costs that are not known yet.
void evaluate_costs(RequestContext& context) noexcept;

/// What the request turned out to cost: evaluates, once, also what was known before it passed.
void evaluate_final_costs(RequestContext& context) noexcept;

}  // namespace rate_limit
