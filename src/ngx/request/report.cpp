#include <string>

#include "core/limit/quota.h"
#include "core/text/json_text.h"
#include "limiter/request/report.h"
#include "ngx/base/response.h"
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

ngx_int_t answer(ngx_http_request_t* r, RequestContext& context) {
    if (take_reported(context)) {
        return send(r, NGX_HTTP_OK, write_report(context));
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
        ask_for_report(*context);
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
