#pragma once

#include "core/limit/quota.h"
#include "limiter/request/decisions.h"
#include "ngx/request/context.h"

namespace rate_limit {

/// Which of its limits a request shows, and with which numbers, for a response of a status. Their costs have
/// been evaluated.

/// Writes into the verdicts what each limit is due: 0 for an exempt status, where nothing is charged, and
/// while the cost is known only at the request's end.
void find_due(RequestContext& context, ngx_uint_t status) noexcept;

/// The limit that the `github` headers show; finds what is due first.
VerdictIndex shown_limit(RequestContext& context, ngx_uint_t status) noexcept;

/// The limit that the variables describe; finds what is due first.
VerdictIndex described_limit(RequestContext& context, ngx_uint_t status) noexcept;

/// The limit of the name that a variable has; finds what is due first.
VerdictIndex named_limit(RequestContext& context, ngx_uint_t status, std::string_view variable) noexcept;

/// The limit whose rejection has a Retry-After, once what is due is found.
VerdictIndex retried_limit(const RequestContext& context) noexcept;

/// The way of one request under its limits, from top to bottom: evaluate → recall_or_ask → decide → settle.
/// The steps between are the limiter's, in limiter/request/decisions.h.

/// Evaluates the location's limits of one phase, or all where a report is to be made, and adds those that
/// apply. NGX_OK, or NGX_ERROR without memory.
ngx_int_t evaluate(RequestContext& context, Phase phase) noexcept;

/// True when one of `rate_limit_bypass` says that nothing is limited. NGX_ERROR goes to `status`.
bool bypassed(ngx_http_request_t* r, const LocationConf& conf, ngx_int_t& status) noexcept;

/// The limit cannot be checked: rate_limit_on_error decides. What the log says of it is as in LimitLog.
void fail(RequestContext& context, AppliedLimit& applied, const char* reason, const char* noun = nullptr,
          std::string_view text = {}) noexcept;

/// An admitted request leaves its limits, which charge it: after its response, or when an upgraded connection
/// begins. A second call does nothing.
void settle(RequestContext& context) noexcept;

}  // namespace rate_limit
