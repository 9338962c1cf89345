#include "ngx/base/response.h"

namespace rate_limit {

ngx_int_t add_field(ngx_http_request_t* r, std::string_view name, std::string_view value) noexcept {
    auto* field = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
    if (field == nullptr) {
        return NGX_ERROR;
    }
    field->hash = 1;
#if (nginx_version >= 1023000)
    field->next = nullptr;
#endif
    field->key = str(name);
    field->lowcase_key = nullptr;
    field->value = str(value);
    return NGX_OK;
}

ngx_int_t send_whole(ngx_http_request_t* r, ngx_uint_t status, std::string_view type,
                     std::string_view body) noexcept {
    r->headers_out.status = status;
    r->headers_out.content_length_n = static_cast<off_t>(body.size());
    r->headers_out.content_type = str(type);
    r->headers_out.content_type_len = type.size();
    ngx_buf_t* buffer = ngx_create_temp_buf(r->pool, body.size() + 1);
    if (buffer == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    buffer->last = ngx_cpymem(buffer->last, str(body).data, body.size());
    buffer->last_buf = r == r->main ? 1 : 0;
    buffer->last_in_chain = 1;
    r->disable_not_modified = 1;  // the client is told what was done, whatever it knows or wants to know
    const ngx_int_t sent = ngx_http_send_header(r);
    if (sent == NGX_ERROR || sent > NGX_OK || r->header_only != 0) {
        return sent;
    }
    ngx_chain_t out = {buffer, nullptr};
    return ngx_http_output_filter(r, &out);
}

}  // namespace rate_limit
