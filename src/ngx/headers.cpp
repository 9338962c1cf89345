#include "core/quota.h"
#include "ngx/conf.h"
#include "ngx/handlers.h"
#include "ngx/limiter.h"
#include "ngx/request.h"

namespace rate_limit {

namespace {

ngx_http_output_header_filter_pt next_header_filter;

bool same_name(const ngx_str_t& key, std::string_view name) noexcept {
    return key.len == name.size() &&
           ngx_strncasecmp(key.data, reinterpret_cast<u_char*>(const_cast<char*>(name.data())), key.len) == 0;
}

/// A field of this name that is there already, from an upstream or an earlier run of this filter, is not
/// sent.
void remove_field(ngx_http_request_t* r, std::string_view name) noexcept {
    for (ngx_list_part_t* part = &r->headers_out.headers.part; part != nullptr; part = part->next) {
        auto* fields = static_cast<ngx_table_elt_t*>(part->elts);
        for (ngx_uint_t i = 0; i < part->nelts; ++i) {
            if (fields[i].hash != 0 && same_name(fields[i].key, name)) {
                fields[i].hash = 0;
            }
        }
    }
}

/// `name` is static, `value` lives in the request's pool.
ngx_int_t set_field(ngx_http_request_t* r, std::string_view name, ngx_str_t value) noexcept {
    remove_field(r, name);
    auto* field = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
    if (field == nullptr) {
        return NGX_ERROR;
    }
    field->hash = 1;
#if (nginx_version >= 1023000)
    field->next = nullptr;
#endif
    field->key.len = name.size();
    field->key.data = reinterpret_cast<u_char*>(const_cast<char*>(name.data()));
    field->lowcase_key = nullptr;
    field->value = value;
    return NGX_OK;
}

ngx_int_t set_field(ngx_http_request_t* r, const Field& field) noexcept {
    ngx_str_t value;
    value.len = field.length;
    value.data = static_cast<u_char*>(ngx_pnalloc(r->pool, field.length));
    if (value.data == nullptr) {
        return NGX_ERROR;
    }
    ngx_memcpy(value.data, field.text.data(), field.length);
    return set_field(r, field.name, value);
}

ngx_int_t add_github(ngx_http_request_t* r, const Quota& quota) noexcept {
    for (const Field& field : github_fields(quota).fields) {
        if (set_field(r, field) != NGX_OK) {
            return NGX_ERROR;
        }
    }
    return NGX_OK;
}

using Append = char* (*)(char*, const Quota&, bool);

/// One list member per limit whose window is known; what is due has been computed.
ngx_int_t add_list(RequestContext& context, std::string_view name, Append append, Millis now) noexcept {
    ngx_http_request_t* r = context.request();
    auto* text = static_cast<char*>(ngx_pnalloc(r->pool, context.count() * max_ietf_member));
    if (text == nullptr) {
        return NGX_ERROR;
    }
    char* end = text;
    for (std::size_t i = 0; i < context.count(); ++i) {
        const Verdict& verdict = context.verdict(i);
        if (verdict.known) {
            end = append(end, quota_of(verdict, context.due()[i], now), end == text);
        }
    }
    return set_field(r, name, {static_cast<std::size_t>(end - text), reinterpret_cast<u_char*>(text)});
}

ngx_int_t add_fields(RequestContext& context) noexcept {
    ngx_http_request_t* r = context.request();
    const ngx_uint_t headers = context.conf().headers;
    const Millis now = now_millis();

    Quota quota;
    if (!shown_quota(context, r->headers_out.status, now, quota)) {
        return NGX_OK;
    }
    if ((headers & headers_github) != 0 && add_github(r, quota) != NGX_OK) {
        return NGX_ERROR;
    }
    if ((headers & headers_ietf) != 0 &&
        (add_list(context, policy_field_name, append_policy, now) != NGX_OK ||
         add_list(context, limit_field_name, append_limit, now) != NGX_OK)) {
        return NGX_ERROR;
    }
    return quota.rejected ? set_field(r, retry_after_field(quota)) : NGX_OK;
}

}  // namespace

void set_next_header_filter(ngx_http_output_header_filter_pt next) noexcept {
    next_header_filter = next;
}

ngx_int_t header_filter(ngx_http_request_t* r) noexcept {
    if (r == r->main) {
        RequestContext* context = RequestContext::find(r);
        if (context != nullptr && context->count() != 0) {
            settle_costs(*context);
            if ((context->conf().headers & headers_off) == 0 && add_fields(*context) != NGX_OK) {
                return NGX_ERROR;
            }
        }
    }
    return next_header_filter(r);
}

}  // namespace rate_limit
