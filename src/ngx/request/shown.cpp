#include "ngx/request/shown.h"

#include "limiter/request/decisions.h"

namespace rate_limit {

void find_due(RequestContext& context, ngx_uint_t status) noexcept {
    for (std::size_t i = 0; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        const LimitLine& line = line_of(applied.limit);
        const bool exempt = is_exempt(line.exempt, status);
        const bool to_come = line.cost->of_end && !applied.cost_known;
        applied.verdict.due = is_charged(context, applied) && !exempt && !to_come ? applied.cost : 0;
    }
}

VerdictIndex shown_limit(RequestContext& context, ngx_uint_t status) noexcept {
    find_due(context, status);
    return shown(context.verdicts(), context.count());
}

VerdictIndex described_limit(RequestContext& context, ngx_uint_t status) noexcept {
    find_due(context, status);
    return described(context.verdicts(), context.count());
}

bool described_quota(RequestContext& context, ngx_uint_t status, Millis now, Quota& quota) noexcept {
    const VerdictIndex i = described_limit(context, status);
    if (!i || !context.verdicts()[*i].known) {
        return false;
    }
    quota = quota_of(context.verdicts()[*i], now);
    return true;
}

}  // namespace rate_limit
