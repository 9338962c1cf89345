#include "ngx/console/answer.h"

#include "ngx/base/response.h"
#include "operator/html/frame.h"

namespace rate_limit {

namespace {

bool is_html(std::string_view type) noexcept {
    return type.substr(0, type.find(';')) == "text/html";
}

ngx_int_t add_policy(ngx_http_request_t* r) noexcept {
    try {
        return add_field(r, "Content-Security-Policy", content_security_policy());
    } catch (...) {
        return NGX_ERROR;
    }
}

}  // namespace

ngx_int_t send_page(ngx_http_request_t* r, ngx_uint_t status, std::string_view type,
                    std::string_view body) noexcept {
    if (add_field(r, "Cache-Control", "no-store") != NGX_OK ||
        add_field(r, "X-Content-Type-Options", "nosniff") != NGX_OK ||
        add_field(r, "Referrer-Policy", "same-origin") != NGX_OK ||
        (is_html(type) && add_policy(r) != NGX_OK)) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    return send_whole(r, status, type, body);
}

std::string_view location_name(ngx_http_request_t* r) noexcept {
    const auto* location =
        static_cast<const ngx_http_core_loc_conf_t*>(ngx_http_get_module_loc_conf(r, ngx_http_core_module));
    return view(location->name);
}

RequestField find_field(const ngx_http_request_t& r, std::string_view name) noexcept {
    RequestField found;
    for (const ngx_list_part_t* part = &r.headers_in.headers.part; part != nullptr; part = part->next) {
        for (const ngx_table_elt_t& field : Elements<const ngx_table_elt_t>(*part)) {
            if (equal_in_any_case(view(field.key), name)) {
                found.value = found.count == 0 ? view(field.value) : found.value;
                ++found.count;
            }
        }
    }
    return found;
}

bool equal_in_any_case(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && ngx_strncasecmp(str(a).data, str(b).data, a.size()) == 0;
}

}  // namespace rate_limit
