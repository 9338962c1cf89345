#include <string>

#include "core/limit/quota.h"
#include "core/text/json_text.h"
#include "limiter/modes/mode.h"
#include "ngx/base/response.h"
#include "ngx/conf/limit_log.h"
#include "ngx/request/handlers.h"
#include "ngx/request/limiter.h"

namespace rate_limit {

namespace {

ngx_int_t send(ngx_http_request_t* r, ngx_uint_t status, std::string_view body) noexcept {
    const ngx_int_t discarded = ngx_http_discard_request_body(r);
    if (discarded != NGX_OK) {
        return discarded;
    }
    return add_field(r, "Cache-Control", "no-store") == NGX_OK
               ? send_whole(r, status, "application/json", body)
               : NGX_HTTP_INTERNAL_SERVER_ERROR;
}

ngx_int_t send_message(ngx_http_request_t* r, ngx_uint_t status, std::string_view message) {
    JsonText json;
    json.begin_object().name("message").text(message).end_object();
    return send(r, status, json.take());
}

/// Finds the limits that apply. NGX_DECLINED where there is none.
ngx_int_t begin(ngx_http_request_t* r, RequestContext*& context) noexcept {
    const LocationConf& conf = *location_conf(r);
    if (conf.limits == nullptr) {
        return NGX_DECLINED;
    }
    ngx_int_t status = NGX_OK;
    if (bypassed(r, conf, status)) {
        return NGX_DECLINED;
    }
    context = RequestContext::create(r, conf);
    if (status != NGX_OK || context == nullptr || evaluate(*context, Phase::access) != NGX_OK) {
        return NGX_ERROR;
    }
    if (context->count() == 0) {
        return NGX_DECLINED;
    }
    for (std::size_t i = 0; i < context->count(); ++i) {
        context->applied(i).verdict.outcome = Outcome::none;  // a report decides nothing
    }
    return context->attach_report();
}

/// Asks the stores of all limits of which this machine does not know enough.
void ask(RequestContext& context) noexcept {
    const Millis now = now_millis();
    context.begin_asking();
    for (std::size_t i = 0; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        if (applied.zone == nullptr) {
            continue;  // a limit of 0, or one that cannot be read
        }
        if (applied.mode->kind().is_known(applied, now)) {
            applied.mode->kind().show_unchanged(applied, nullptr, now);
        } else {
            context.ask_for_report(applied);
        }
    }
    context.end_asking();
}

/// Takes in the answer. False if there is none, and what this machine knows must not stand for it.
bool take_answer(RequestContext& context, AppliedLimit& applied, const Answer& answer, Millis now) noexcept {
    if (answer.failure() == nullptr) {
        applied.mode->kind().show_unchanged(applied, &answer.window(), now);
        return true;
    }
    main_conf(context.request())->log->unchecked(context.request(), line_of(applied.limit), answer.failure());
    const bool local = context.conf().on_error == static_cast<ngx_uint_t>(OnError::local);
    if (local && open_window(applied, now)) {
        applied.mode->kind().show_unchanged(applied, nullptr, now);
    }
    return applied.verdict.known;
}

bool take_answers(RequestContext& context) noexcept {
    const Millis now = now_millis();
    bool known = context.count() != 0;
    for (std::size_t i = 0; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        const Answer* answer = applied.answer();
        known = (answer != nullptr ? take_answer(context, applied, *answer, now) : applied.verdict.known) &&
                known;
    }
    return known;
}

void write_limit(JsonText& json, std::string_view name, const Quota& quota) {
    json.name(name).begin_object();
    json.name("limit").number(quota.limit);
    json.name("used").number(quota.used);
    json.name("remaining").number(quota.remaining);
    json.name("reset").number(quota.reset);
    json.end_object();
}

std::string write_limits(const RequestContext& context) {
    const Millis now = now_millis();
    JsonText json;
    json.begin_object().name("resources").begin_object();
    for (std::size_t i = 0; i < context.count(); ++i) {
        const Quota quota = quota_of(context.applied(i).verdict, now);
        write_limit(json, quota.name, quota);
    }
    json.end_object();
    write_limit(json, "rate", quota_of(context.applied(0).verdict, now));
    json.end_object();
    return json.take();
}

ngx_int_t answer(ngx_http_request_t* r, RequestContext& context) {
    context.end_wait();
    if (take_answers(context)) {
        return send(r, NGX_HTTP_OK, write_limits(context));
    }
    context.forget_limits();
    return add_field(r, retry_after_name, "1") == NGX_OK
               ? send_message(r, NGX_HTTP_SERVICE_UNAVAILABLE, "The limits cannot be read at the moment.")
               : NGX_HTTP_INTERNAL_SERVER_ERROR;
}

ngx_int_t report(ngx_http_request_t* r) {
    if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
        return add_field(r, "Allow", "GET, HEAD") == NGX_OK
                   ? send_message(r, NGX_HTTP_NOT_ALLOWED, "It is read, by GET or HEAD.")
                   : NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    RequestContext* context = RequestContext::find_report(r);
    if (context == nullptr) {
        const ngx_int_t begun = begin(r, context);
        if (begun == NGX_DECLINED) {
            return send_message(r, NGX_HTTP_NOT_FOUND, "Rate limiting is not enabled.");
        }
        if (begun != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
        ask(*context);
    }
    if (!context->waiting()) {
        return answer(r, *context);
    }
    const ngx_int_t suspended = context->suspend();
    if (suspended != NGX_AGAIN) {
        return suspended;
    }
    ++r->main->count;  // nginx takes one back when a content handler returns
    return NGX_DONE;
}

}  // namespace

/// nginx calls it again when the request resumes.
ngx_int_t report_handler(ngx_http_request_t* r) noexcept {
    try {
        return report(r);
    } catch (...) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}

}  // namespace rate_limit
