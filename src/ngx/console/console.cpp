#include "ngx/console/console.h"

#include <string>
#include <string_view>

#include "ngx/base/response.h"
#include "ngx/console/access.h"
#include "ngx/figures/pages.h"

namespace rate_limit {

namespace {

struct Page {
    std::string_view path;  // below the location
    std::string_view type;
    std::string (*write)(const MainConf& main, const ConsoleConf& console);
};

constexpr Page pages[] = {
    {"json", "application/json", write_json},
    {"metrics", "text/plain; version=0.0.4; charset=utf-8",
     [](const MainConf& main, const ConsoleConf& /*console*/) { return write_metrics(main); }},
};

constexpr std::string_view plain = "text/plain; charset=utf-8";

/// Sends the whole answer. `type` is static, `body` is copied.
ngx_int_t send(ngx_http_request_t* r, ngx_uint_t status, std::string_view type,
               std::string_view body) noexcept {
    if (add_field(r, "Cache-Control", "no-store") != NGX_OK ||
        add_field(r, "X-Content-Type-Options", "nosniff") != NGX_OK ||
        add_field(r, "Referrer-Policy", "same-origin") != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    return send_whole(r, status, type, body);
}

/// What follows the location's name in the path.
std::string_view path_below(ngx_http_request_t* r) noexcept {
    const auto* location =
        static_cast<const ngx_http_core_loc_conf_t*>(ngx_http_get_module_loc_conf(r, ngx_http_core_module));
    return view(r->uri).substr(std::min(r->uri.len, location->name.len));
}

ngx_int_t answer(ngx_http_request_t* r) {
    const char* forbidden = why_forbidden(*r, location_conf(r)->console);
    if (forbidden != nullptr) {
        return send(r, NGX_HTTP_FORBIDDEN, plain, forbidden);
    }
    for (const Page& page : pages) {
        if (page.path != path_below(r)) {
            continue;
        }
        if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
            return add_field(r, "Allow", "GET, HEAD") == NGX_OK
                       ? send(r, NGX_HTTP_NOT_ALLOWED, plain, "It is read, by GET or HEAD.\n")
                       : NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
        return send(r, NGX_HTTP_OK, page.type, page.write(*main_conf(r), location_conf(r)->console));
    }
    return send(r, NGX_HTTP_NOT_FOUND, plain, "There is no such page here.\n");
}

}  // namespace

ngx_int_t console_handler(ngx_http_request_t* r) noexcept {
    const ngx_int_t discarded = ngx_http_discard_request_body(r);
    if (discarded != NGX_OK) {
        return discarded;
    }
    try {
        return answer(r);
    } catch (...) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}

}  // namespace rate_limit
