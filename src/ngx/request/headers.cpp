#include <algorithm>
#include <array>

#include "ngx/base/response.h"
#include "ngx/conf/conf.h"
#include "ngx/request/costs.h"
#include "ngx/request/handlers.h"
#include "ngx/request/limiter.h"
#include "ngx/request/response_end.h"
#include "ngx/request/response_fields.h"
#include "ngx/values/variable_names.h"

namespace rate_limit {

namespace {

ngx_http_output_header_filter_pt next_header_filter;

/// The header fields that one response gets. Names are static; values live in the pool of the request or of
/// the configuration.
class NewFields {
public:
    NewFields() noexcept : end_(fields_) {}
    NewFields(const NewFields&) = delete;
    NewFields& operator=(const NewFields&) = delete;

    void add(const Field& field) noexcept { *end_++ = field; }
    void add_github(const Quota& quota, char* text, std::string_view digits) noexcept {
        end_ = put_github_fields(end_, quota, text, digits);
    }

    /// Puts them into the response, in place of fields of the same names that are there already, from an
    /// upstream or an earlier run of this filter.
    ngx_int_t put(ngx_http_request_t* r) const noexcept;

private:
    /// All our names begin with one of these letters: tells most other fields apart quickly.
    static bool may_be_ours(const ngx_str_t& name) noexcept {
        const int first = name.len != 0 ? name.data[0] | 0x20 : 0;
        return first == 'x' || first == 'r';
    }

    bool has(const ngx_str_t& name) const noexcept;
    void remove_others(ngx_http_request_t* r) const noexcept;

    const Field* begin() const noexcept { return fields_; }
    const Field* end() const noexcept { return end_; }

    union {                                // a field is there from add() on
        Field fields_[github_fields + 3];  // with Retry-After and both of `ietf`
    };
    Field* end_;
};

bool NewFields::has(const ngx_str_t& name) const noexcept {
    return std::any_of(begin(), end(),
                       [&name](const Field& field) { return equal_in_any_case(field.name, view(name)); });
}

void NewFields::remove_others(ngx_http_request_t* r) const noexcept {
    for_each_of<ngx_table_elt_t>(r->headers_out.headers, [this](ngx_table_elt_t& field) {
        if (field.hash != 0 && may_be_ours(field.key) && has(field.key)) {
            field.hash = 0;
        }
    });
}

ngx_int_t NewFields::put(ngx_http_request_t* r) const noexcept {
    remove_others(r);
    for (const auto& [name, value] : *this) {
        if (add_field(r, name, value) != NGX_OK) {
            return NGX_ERROR;
        }
    }
    return NGX_OK;
}

using Append = char* (*)(char*, const Quota&, bool);

/// Adds a list with a member for each limit that is shown and whose window is known. What is due has been
/// found.
ngx_int_t add_list(RequestContext& context, std::string_view name, Append append, Millis now,
                   NewFields& fields) noexcept {
    ngx_http_request_t* r = context.request();
    auto* text = static_cast<char*>(ngx_pnalloc(r->pool, context.count() * max_ietf_member));
    if (text == nullptr) {
        return NGX_ERROR;
    }
    char* end = text;
    for (std::size_t i = 0; i < context.count(); ++i) {
        const Verdict& verdict = context.applied(i).verdict;
        if (verdict.known && !verdict.hidden) {
            end = append(end, quota_of(verdict, now), end == text);
        }
    }
    fields.add(Field{name, {text, static_cast<std::size_t>(end - text)}});
    return NGX_OK;
}

/// The digits of the limit that is shown, where the configuration has them. A ban shows another.
std::string_view digits_of(const LimitLine& limit, const Quota& quota) noexcept {
    return quota.limit == limit.rate.limit ? limit.digits : std::string_view();
}

ngx_int_t add_fields(RequestContext& context) noexcept {
    ngx_http_request_t* r = context.request();
    if (context.outcome == Outcome::error_denied) {
        NewFields fields;
        fields.add(Field{retry_after_name, denied_retry});
        return fields.put(r);
    }
    const ngx_uint_t headers = context.conf().headers;
    const Millis now = now_millis();

    const VerdictIndex limit = shown_limit(context, r->headers_out.status);
    const VerdictIndex retried = retried_limit(context);
    if (!limit && !retried) {
        return NGX_OK;
    }
    NewFields fields;
    auto* text = static_cast<char*>(ngx_pnalloc(r->pool, max_github_text + (retried ? max_retry_after : 0)));
    if (text == nullptr) {
        return NGX_ERROR;
    }
    if (limit && (headers & headers_github) != 0) {
        const Quota quota = quota_of(context.verdicts()[*limit], now);
        fields.add_github(quota, text, digits_of(line_of(context.applied(*limit).limit), quota));
    }
    if (limit && (headers & headers_ietf) != 0 &&
        (add_list(context, policy_field_name, append_policy, now, fields) != NGX_OK ||
         add_list(context, limit_field_name, append_limit, now, fields) != NGX_OK)) {
        return NGX_ERROR;
    }
    if (retried) {
        fields.add(retry_after_field(quota_of(context.verdicts()[*retried], now), text + max_github_text));
    }
    return fields.put(r);
}

/// An upstream rejects by a limit of its own, and says so: its fields are the ones that its client needs.
bool says_own_limit(RequestContext& context) noexcept {
    ngx_http_request_t* r = context.request();
    if (r->headers_out.status != NGX_HTTP_TOO_MANY_REQUESTS || r->upstream == nullptr ||
        context.outcome == Outcome::rejected) {
        return false;
    }
    bool says = false;
    for_each_of<ngx_table_elt_t>(r->headers_out.headers, [&says](const ngx_table_elt_t& field) {
        const std::string_view name = view(field.key);
        says =
            says || (field.hash != 0 && (begins_with(name, "X-RateLimit") || begins_with(name, "RateLimit") ||
                                         equal_in_any_case(name, limit_field_name)));
    });
    return says;
}

bool has_post_action(ngx_http_request_t* r) noexcept {
    const auto* core =
        static_cast<ngx_http_core_loc_conf_t*>(ngx_http_get_module_loc_conf(r, ngx_http_core_module));
    return core->post_action.data != nullptr;
}

}  // namespace

void set_next_header_filter(ngx_http_output_header_filter_pt next) noexcept {
    next_header_filter = next;
}

ngx_int_t header_filter(ngx_http_request_t* r) noexcept {
    RequestContext* context = r == r->main ? RequestContext::find(r) : nullptr;
    if (context == nullptr || context->count() == 0) {
        return next_header_filter(r);
    }
    evaluate_costs(*context);
    const bool adds = (context->conf().headers & headers_off) == 0 && !says_own_limit(*context);
    if (adds && add_fields(*context) != NGX_OK) {
        return NGX_ERROR;
    }
    const BodyKind kind = wanted_response(*context);
    const ngx_int_t passed = next_header_filter(r);
    // Later filters may have changed the status: to 206, or by an error page that came back here.
    context->note_status();
    note_header_sent(*context);
    read_response(*context, kind);
    if (r->header_sent != 0 && has_post_action(r)) {
        evaluate_final_costs(*context);  // post_action will have an upstream of its own
    }
    if (r->header_sent != 0 && context->status() == NGX_HTTP_SWITCHING_PROTOCOLS) {
        settle(*context);  // the connection may stay for hours
    }
    return passed;
}

}  // namespace rate_limit
