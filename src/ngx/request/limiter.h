#pragma once

#include "core/limit/quota.h"
#include "ngx/request/context.h"

namespace rate_limit {

/// The way of one request under its limits, from top to bottom: evaluate → check → decide → charge.

/// Evaluates the location's limits of one phase and adds those that apply. NGX_OK, or NGX_ERROR without
/// memory.
ngx_int_t evaluate(RequestContext& context, Phase phase) noexcept;

/// True when one of `rate_limit_bypass` says that nothing is limited. NGX_ERROR goes to `status`.
bool bypassed(ngx_http_request_t* r, const LocationConf& conf, ngx_int_t& status) noexcept;

/// The limit cannot be checked: rate_limit_on_error decides. `reason` is static text.
void fail(RequestContext& context, std::size_t i, const char* reason) noexcept;

/// The same because of what a variable gave: `noun`, static text, says what it was to be.
void fail(RequestContext& context, std::size_t i, const char* reason, const char* noun,
          std::string_view text) noexcept;

/// Answers limits `from` and after from memory where memory knows, and asks the stores for the windows of the
/// others; nothing, when one of them rejects without asking.
void check(RequestContext& context, std::size_t from) noexcept;

/// Turns what is known of limits `from` and after into verdicts, and all verdicts into the request's outcome.
/// What one limit counted or reserved is given back where another refuses the request.
void decide(RequestContext& context, std::size_t from) noexcept;

/// Evaluates the cost of one limit.
void settle_cost(RequestContext& context, std::size_t i) noexcept;

/// Evaluates the costs that are not known yet.
void settle_costs(RequestContext& context) noexcept;

/// What was, or would have been, charged before the request is settled by what it turned out to cost:
/// evaluates that, once.
void settle_costs_again(RequestContext& context) noexcept;

/// What each limit is charged if the response has this status: 0 for an exempt one, and where nothing is
/// charged. An array of count(), good until the next call.
const std::int64_t* charges_due(RequestContext& context, ngx_uint_t status) noexcept;

/// The verdict that the `github` headers show for a response of this status; null for none.
const Verdict* shown_verdict(RequestContext& context, ngx_uint_t status) noexcept;

/// The one that the variables describe; null for none.
const Verdict* described_verdict(RequestContext& context, ngx_uint_t status) noexcept;

/// Its numbers; false for none.
bool described_quota(RequestContext& context, ngx_uint_t status, Millis now, Quota& quota) noexcept;

/// Charges every limit of an admitted request: after its response, or when an upgraded connection begins.
void charge_once(RequestContext& context) noexcept;

}  // namespace rate_limit
