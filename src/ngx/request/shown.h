#pragma once

#include "core/limit/quota.h"
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

/// The numbers of described_limit(); false if there is none, or its window is not known.
bool described_quota(RequestContext& context, ngx_uint_t status, Millis now, Quota& quota) noexcept;

}  // namespace rate_limit
