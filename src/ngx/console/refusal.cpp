#include "ngx/console/refusal.h"

#include <string>

#include "ngx/base/response.h"
#include "ngx/console/answer.h"
#include "operator/html/frame.h"

namespace rate_limit {

namespace {

std::string write_html(std::string_view description) {
    HtmlText html;
    begin_html(html, {description, false, false});
    html.open("header").open("div", {{"class", "health bad"}});
    html.element("h1", description).close().close();
    end_html(html);
    return html.take();
}

}  // namespace

bool wants_html(const ngx_http_request_t& r) noexcept {
    const std::string_view accept = find_field(r, "accept").value;
    constexpr std::string_view type = "text/html";
    for (std::size_t at = 0; at + type.size() <= accept.size(); ++at) {
        if (equal_in_any_case(accept.substr(at, type.size()), type)) {
            return true;
        }
    }
    return false;
}

ngx_int_t send_error(ngx_http_request_t* r, ActError error, std::string_view description,
                     std::string_view allow) {
    if (!allow.empty() && add_field(r, "Allow", allow) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    const ngx_uint_t status = status_of(error);
    if (wants_html(*r)) {
        return send_page(r, status, html_type, write_html(description));
    }
    const ActResult result = ActResult::failed(error, std::string(description));
    return send_page(r, status, "application/json", write_whole(*tell_act_json(result)));
}

}  // namespace rate_limit
