#include "ngx/request/limiter.h"

#include "limiter/request/decisions.h"
#include "ngx/conf/limit_log.h"
#include "ngx/request/costs.h"

namespace rate_limit {

namespace {

/// The status that the client got, or would have got. Where an error page was found not modified, nginx sends
/// 304, though err_status and nginx's own log keep the status of the error.
ngx_uint_t final_status(const RequestContext& context) noexcept {
    const ngx_http_request_t* r = context.request();
    if (r->header_sent == 0 && r->post_action != 0) {
        return NGX_HTTP_CLIENT_CLOSED_REQUEST;  // the client left; the status that r has is the one of
                                                // post_action
    }
    return r->err_status != 0 && r->header_sent == 0 ? r->err_status : context.status();
}

}  // namespace

void find_due(RequestContext& context, ngx_uint_t status) noexcept {
    for (std::size_t i = 0; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        const LimitLine& line = line_of(applied.limit);
        const bool to_come = line.costs_at_end() && !applied.cost_known && !applied.reserved;
        const bool is_due = is_charged(context, applied) && !to_come && !line.exempt->has(status);
        applied.verdict.due = is_due ? applied.cost : 0;
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

VerdictIndex named_limit(RequestContext& context, ngx_uint_t status, std::string_view variable) noexcept {
    find_due(context, status);
    return named(context.verdicts(), context.count(), variable);
}

VerdictIndex retried_limit(const RequestContext& context) noexcept {
    const VerdictIndex limit =
        context.outcome == Outcome::rejected ? rejecting(context.verdicts(), context.count()) : std::nullopt;
    return limit && quota_of(context.verdicts()[*limit], now_millis()).retry ? limit : std::nullopt;
}

void fail(RequestContext& context, AppliedLimit& applied, const char* reason, const char* noun,
          std::string_view text) noexcept {
    main_conf(context.request())
        ->log->unchecked(context.request(), line_of(applied.limit), reason, noun, text);
    decide_unchecked(context, applied);
}

void settle(RequestContext& context) noexcept {
    if (!context.settled && context.has_left_queue()) {
        leave_queue(context);
        return;
    }
    if (context.settled || !context.admitted()) {
        return;
    }
    evaluate_costs_of_end(context);
    find_due(context, final_status(context));
    charge_due(context);
}

}  // namespace rate_limit
