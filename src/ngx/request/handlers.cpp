#include "ngx/request/handlers.h"

#include "limiter/request/report.h"
#include "ngx/conf/conf.h"
#include "ngx/request/context.h"
#include "ngx/request/costs.h"
#include "ngx/request/limiter.h"
#include "ngx/request/missing.h"
#include "ngx/request/request_fields.h"

namespace rate_limit {

namespace {

void log_rejections(const RequestContext& context, std::size_t from) noexcept {
    ngx_log_t* const log = context.request()->connection->log;
    for (std::size_t i = from; log->log_level >= context.conf().log_level && i < context.count(); ++i) {
        const Outcome outcome = context.applied(i).verdict.outcome;
        if (outcome == Outcome::rejected || outcome == Outcome::rejected_dry_run) {
            const Rejection words(context, context.applied(i));
            ngx_log_error_core(context.conf().log_level, log, 0, "%s", words.text());
        }
        if (context.applied(i).penalty != nullptr && context.applied(i).penalty->begun) {
            const PenaltyBegin words(context, context.applied(i));
            ngx_log_error_core(context.conf().log_level, log, 0, "%s", words.text());
        }
    }
}

/// The status of a rejection: of the first limit that rejected, if it has its own, or else of its location.
ngx_uint_t rejection_status(const RequestContext& context, std::size_t from) noexcept {
    for (std::size_t i = from; i < context.count(); ++i) {
        const ngx_uint_t own = line_of(context.applied(i).limit).status;
        if (context.applied(i).verdict.outcome == Outcome::rejected) {
            return own != 0 ? own : context.conf().status;
        }
    }
    return context.conf().status;
}

/// The request goes on.
ngx_int_t go_on(RequestContext& context, Phase phase) noexcept {
    context.done(phase) = true;
    return NGX_DECLINED;
}

/// Every verdict of the phase is in: the request goes on, waits for its turn or ends here.
ngx_int_t conclude(RequestContext& context, Phase phase, std::size_t from) noexcept {
    decide(context, from);
    if (context.outcome != Outcome::passed) {
        log_rejections(context, from);
    }
    if (!is_refusal(context.outcome)) {
        return await_turn(context, from) ? context.suspend() : go_on(context, phase);
    }
    context.end();  // so that an error page in the same location is not limited again

    // Finalized here instead of returning the status: under `satisfy any` nginx only remembers some statuses,
    // and a later handler's OK would let the request in.
    const ngx_uint_t status =
        context.outcome == Outcome::rejected ? rejection_status(context, from) : context.conf().error_status;
    ngx_http_finalize_request(context.request(), static_cast<ngx_int_t>(status));
    return NGX_DONE;
}

/// nginx runs the phase again for a request that has waited in it, or still does.
ngx_int_t come_again(RequestContext& context, Phase phase) noexcept {
    if (context.waiting()) {
        return NGX_AGAIN;
    }
    if (context.outcome == Outcome::none) {
        return conclude(context, phase, context.asked_from());
    }
    take_turn(context);
    return go_on(context, phase);
}

/// How many limits the location has in this phase.
ngx_uint_t limits_in(const LocationConf& conf, Phase phase) noexcept {
    return phase == Phase::precontent ? conf.precontent_count : conf.limits->nelts - conf.precontent_count;
}

/// Finds the limits of this phase that apply. NGX_DECLINED when there is nothing to decide.
ngx_int_t begin(RequestContext& context, Phase phase, bool attached) noexcept {
    ngx_int_t status = NGX_OK;
    const bool may_bypass = context.conf().bypass != nullptr;
    if (may_bypass && bypassed(context.request(), context.conf(), status)) {
        context.bypass();
    } else if (status != NGX_OK || evaluate(context, phase) != NGX_OK) {
        return NGX_ERROR;
    }
    if (context.count() == 0 && context.outcome != Outcome::bypassed) {
        // A location that a redirect leads to may still limit the request.
        const bool noted = context.lifted() == OverrideKind::none || context.attach_lifted() == NGX_OK;
        return noted ? NGX_DECLINED : NGX_ERROR;
    }
    if (!attached && context.attach() != NGX_OK) {
        return NGX_ERROR;
    }
    return context.outcome == Outcome::bypassed ? NGX_DECLINED : NGX_OK;
}

/// The location has limits in this phase.
ngx_int_t limit_request(ngx_http_request_t* r, Phase phase) noexcept {
    const LocationConf& conf = *location_conf(r);
    RequestContext* context = RequestContext::find(r);
    const bool attached = context != nullptr;
    if (attached && (context->done(phase) || &context->conf() != &conf ||
                     context->is_of_post_action() != (r->post_action != 0))) {
        return NGX_DECLINED;  // decided, or about to be, before a redirect or by another location
    }
    if (conf.request_fields != nullptr) {
        const ngx_int_t read = read_request(r, *conf.request_fields);
        if (read != NGX_OK) {
            return read;
        }
    }
    if (!attached) {
        context = RequestContext::create(r, conf);
        if (context == nullptr) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }
    if (context->asked_in(phase)) {
        return come_again(*context, phase);
    }

    const std::size_t from = context->count();
    const ngx_int_t begun = begin(*context, phase, attached);
    if (begun == NGX_ERROR) {
        context->end();
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    if (begun != NGX_OK) {
        return NGX_DECLINED;
    }
    context->begin_phase(phase, from);
    recall_or_ask(*context, from);
    return context->waiting() ? context->suspend() : conclude(*context, phase, from);
}

/// Most locations have no limits in one of the phases.
ngx_int_t run_phase(ngx_http_request_t* r, Phase phase) noexcept {
    const LocationConf& conf = *location_conf(r);
    const bool has_limits = conf.limits != nullptr && !conf.report && limits_in(conf, phase) != 0;
    return has_limits && r == r->main ? limit_request(r, phase) : NGX_DECLINED;
}

/// The response has ended, perhaps before it was sent, and another location is about to run: its upstream
/// would take the first one's place, and it holds no slots.
void end_before_post_action(ngx_http_request_t* r) noexcept {
    RequestContext* context = r == r->main ? RequestContext::find(r) : nullptr;
    if (context == nullptr || context->is_of_post_action()) {
        return;
    }
    if (context->admitted()) {
        evaluate_costs_of_end(*context);
    }
    context->leave_all();
}

}  // namespace

ngx_int_t access_handler(ngx_http_request_t* r) noexcept {
    if (r->post_action != 0) {
        end_before_post_action(r);
    }
    return run_phase(r, Phase::access);
}

ngx_int_t precontent_handler(ngx_http_request_t* r) noexcept {
    return run_phase(r, Phase::precontent);
}

/// Charges an admitted request, however it ended. A request whose client left while it waited for a store was
/// not admitted; of one that waited for its turn leave_queue() says what it is charged.
ngx_int_t log_handler(ngx_http_request_t* r) noexcept {
    if (r != r->main) {
        return NGX_OK;
    }
    RequestContext* context = RequestContext::find(r);
    if (context != nullptr) {
        settle(*context);
        context->leave_all();
        count_request(*context);
    }
    look_at_missing(r);
    return NGX_OK;
}

}  // namespace rate_limit
