#include "ngx/request/response_fields.h"

#include "ngx/conf/body_field.h"
#include "ngx/conf/conf.h"
#include "ngx/request/body_reading.h"

namespace rate_limit {

namespace {

ngx_http_output_body_filter_pt next_body_filter;

/// Whether one of the limits that let the request pass costs what its response says.
bool costs_response(const RequestContext& context) noexcept {
    for (std::size_t i = 0; i < context.count(); ++i) {
        if (line_of(context.applied(i).limit).reads_response) {
            return context.admitted();
        }
    }
    return false;
}

bool has_whole_body(const ngx_http_request_t& r) noexcept {
    const ngx_uint_t status = r.headers_out.status;
    return r.method != NGX_HTTP_HEAD && status != NGX_HTTP_NOT_MODIFIED && status != NGX_HTTP_NO_CONTENT &&
           status != NGX_HTTP_PARTIAL_CONTENT;
}

/// Empty where the body is as it is.
std::string_view encoding_of(const ngx_http_request_t& r) noexcept {
    const ngx_table_elt_t* field = r.headers_out.content_encoding;
    if (field == nullptr || field->hash == 0 || equal_in_any_case(view(field->value), "identity")) {
        return {};
    }
    return view(field->value);
}

ngx_int_t body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
    RequestContext* context = r == r->main && in != nullptr ? RequestContext::find(r) : nullptr;
    if (context != nullptr && context->response != nullptr) {
        context->response->read(in);
    }
    return next_body_filter(r, in);
}

}  // namespace

BodyKind wanted_response(RequestContext& context) noexcept {
    context.response = nullptr;
    if (context.conf().response_fields == nullptr || !costs_response(context)) {
        return BodyKind::unknown;
    }
    const ngx_http_request_t* r = context.request();
    const BodyKind kind = body_kind(view(r->headers_out.content_type));
    if (kind == BodyKind::unknown || kind == BodyKind::form) {
        return BodyKind::unknown;
    }
    // The body is read before nginx compresses it for the client.
    if (!has_whole_body(*r)) {
        return BodyKind::unknown;
    }
    const std::string_view encoding = encoding_of(*r);
    if (encoding.empty()) {
        return kind;
    }
    FieldSet& set = *context.conf().response_fields;
    set.encoded.tell(context.request(), *set.variables.front(), encoding);
    return BodyKind::unknown;
}

/// A part says nothing of the whole, of which nginx itself may have made it.
void read_response(RequestContext& context, BodyKind kind) noexcept {
    ngx_http_request_t* r = context.request();
    if (kind == BodyKind::unknown || r->header_only != 0 ||
        r->headers_out.status == NGX_HTTP_PARTIAL_CONTENT) {
        return;
    }
    r->filter_need_in_memory = 1;  // a file that is sent, of a cache too, comes as memory
    context.response = BodyReading::create(*r->pool, *context.conf().response_fields, kind);
}

void add_response_filter(const MainConf& main) noexcept {
    if (reads_responses(main)) {
        next_body_filter = ngx_http_top_body_filter;
        ngx_http_top_body_filter = body_filter;
    }
}

ngx_int_t response_field_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                                  uintptr_t field) noexcept {
    const RequestContext* context = RequestContext::find(r->main);
    value->not_found = 1;
    if (context == nullptr || context->response == nullptr) {
        return NGX_OK;
    }
    const BodyReading& response = *context->response;
    const std::size_t number = response.set().find(field);
    if (number == response.set().variables.size() || !response.value(number).found()) {
        return NGX_OK;
    }
    return set_copy(r, value, response.value(number).text());
}

}  // namespace rate_limit
