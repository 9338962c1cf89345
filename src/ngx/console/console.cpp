#include "ngx/console/console.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ngx/base/ngx.h"
#include "ngx/console/access.h"
#include "ngx/console/answer.h"
#include "ngx/console/key_page.h"
#include "operator/figures/documents.h"
#include "operator/html/frame.h"
#include "operator/page/page.h"
#include "operator/serving.h"

namespace rate_limit {

namespace {

constexpr std::string_view module_version =
#include "version.inc"
    ;

struct Page {
    std::string_view path;  // below the location
    std::string_view type;
    /// Null: there is no page for such a query.
    std::unique_ptr<Document> (*document)(ngx_http_request_t* r);
};

std::unique_ptr<Document> tell_html(ngx_http_request_t* r) {
    const std::optional<PageView> asked = PageView::of(location_name(r), view(r->args));
    return asked ? tell_page(*main_conf(r), location_conf(r)->console.rights, *asked) : nullptr;
}

constexpr Page pages[] = {
    {"", html_type, tell_html},
    {"json", "application/json",
     [](ngx_http_request_t* r) { return tell_json(*main_conf(r), location_conf(r)->console.rights); }},
    {"metrics", "text/plain; version=0.0.4; charset=utf-8",
     [](ngx_http_request_t* r) { return tell_metrics(*main_conf(r)); }},
};

/// The path below the location's name. A path that does not begin with it, as `rewrite ... break` may leave
/// it, is returned whole: it is no page's.
std::string_view path_below(ngx_http_request_t* r) noexcept {
    const std::string_view path = view(r->uri);
    const std::string_view name = location_name(r);
    return path.substr(path.substr(0, name.size()) == name ? name.size() : 0);
}

bool is_read(const ngx_http_request_t* r) noexcept {
    return (r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) != 0;
}

ngx_int_t refuse_method(ngx_http_request_t* r) {
    return send_error(r, ActError::method_not_allowed, "It is read, by GET or HEAD.", "GET, HEAD");
}

/// An act is not begun anew when nginx calls the handler again.
ngx_int_t answer(ngx_http_request_t* r) {
    const ConsoleConf& console = location_conf(r)->console;
    const bool of_key = console.rights.may_act && path_below(r) == "key";
    if (of_key) {
        const ngx_int_t gone_on = go_on_with_key(r);
        if (gone_on != NGX_DECLINED) {
            return gone_on;
        }
    }
    const char* forbidden = why_forbidden(*r, console);
    if (of_key) {
        return answer_key(r, forbidden);
    }
    const ngx_int_t discarded = ngx_http_discard_request_body(r);
    if (discarded != NGX_OK) {
        return discarded;
    }
    if (forbidden != nullptr) {
        return send_error(r, ActError::forbidden, forbidden);
    }
    for (const Page& page : pages) {
        if (page.path != path_below(r)) {
            continue;
        }
        if (!is_read(r)) {
            return refuse_method(r);
        }
        std::unique_ptr<Document> document = page.document(r);
        if (document != nullptr) {
            const ngx_int_t status = tell(r, page.type, std::move(document));
            r->main->count += status == NGX_DONE ? 1 : 0;
            return status;
        }
    }
    return is_read(r) || path_below(r) != "key"
               ? send_error(r, ActError::path_not_found, "There is no such page here.")
               : refuse_method(r);
}

}  // namespace

Serving serving() noexcept {
    const auto* core =
        reinterpret_cast<const ngx_core_conf_t*>(ngx_get_conf(ngx_cycle->conf_ctx, ngx_core_module));
    const ngx_str_t host = const_cast<const ngx_cycle_t*>(ngx_cycle)->hostname;
    return {module_version, NGINX_VERSION, view(host), core->worker_processes};
}

ngx_int_t console_handler(ngx_http_request_t* r) noexcept {
    try {
        return answer(r);
    } catch (...) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}

}  // namespace rate_limit
