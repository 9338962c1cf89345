#pragma once

#include "ngx/request/context.h"

namespace rate_limit {

/// Costs of a request, one for each of its limits. An expression whose value is no cost counts as 1, and the
/// error is logged. Where a limit has a reservation, that stands for the cost until the request has ended,
/// and stays where the cost is empty then.

/// The limits from number `from` on are found: evaluates the costs that decide, before the request passes,
/// and finds those that are above the whole limit. A cost may differ at the end, so nginx does not keep the
/// values of variables found here.
void evaluate_costs_early(RequestContext& context, std::size_t from) noexcept;

/// The header is about to be sent: evaluates the costs that are not known yet, but those that nginx knows
/// only when the request ends.
void evaluate_costs(RequestContext& context) noexcept;

/// The response is known, and so is what the request really costs: evaluates all costs once more, but those
/// that nginx knows only when the request ends. A second call does nothing. Where the request holds nothing,
/// nginx does not keep the values of variables found here.
void evaluate_final_costs(RequestContext& context) noexcept;

/// The request ends, or what is known of its response is about to be lost: evaluates all that
/// evaluate_final_costs() does, unless it has, and the others. A second call does nothing.
void evaluate_costs_of_end(RequestContext& context) noexcept;

}  // namespace rate_limit
