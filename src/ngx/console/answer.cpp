#include "ngx/console/answer.h"

#include <optional>
#include <string>
#include <utility>

#include "limiter/loop.h"
#include "ngx/base/response.h"
#include "ngx/base/resume.h"
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

std::string write_html(std::string_view description) {
    HtmlText html;
    begin_html(html, {description, false, false});
    html.open("header").open("div", {{"class", "health bad"}});
    html.element("h1", description).close().close();
    end_html(html);
    return html.take();
}

/// A response that is being written. Lives in the request's pool.
class Telling {
public:
    Telling(ngx_http_request_t* r, std::string_view type, std::unique_ptr<Document> document) noexcept
        : request_(r), type_(type), document_(std::move(document)) {}

    /// Writes for a turn. Once there is nothing more to write, sends it, and returns what a content handler
    /// returns.
    std::optional<ngx_int_t> go_on() noexcept {
        try {
            const Turn turn;
            bool more = document_->write_more();
            while (more && !turn.spent()) {
                more = document_->write_more();
            }
            if (more) {
                return std::nullopt;
            }
            return send_page(request_, NGX_HTTP_OK, type_, document_->take());
        } catch (...) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    /// Lets other requests go on first. A worker that is to end waits for this one.
    void wait() noexcept { next_turn_.set(1); }

private:
    static void on_next_turn(void* telling) noexcept {
        auto& self = *static_cast<Telling*>(telling);
        ngx_http_request_t* r = self.request_;
        ngx_connection_t* connection = r->connection;
        ngx_http_set_log_request(connection->log, r);
        const std::optional<ngx_int_t> status = self.go_on();
        if (status) {
            ngx_http_finalize_request(r, *status);
        } else {
            self.wait();
        }
        ngx_http_run_posted_requests(connection);
    }

    ngx_http_request_t* const request_;
    const std::string_view type_;
    const std::unique_ptr<Document> document_;
    Timer next_turn_{this, on_next_turn, Timer::Worker::stays};
};

}  // namespace

ngx_int_t send_page(ngx_http_request_t* r, ngx_uint_t status, std::string_view type,
                    std::string_view body) noexcept {
    const ngx_int_t discarded = ngx_http_discard_request_body(r);  // what has not been read of it
    if (discarded != NGX_OK) {
        return discarded;
    }
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
    for_each_of<const ngx_table_elt_t>(r.headers_in.headers, [&](const ngx_table_elt_t& field) {
        if (equal_in_any_case(view(field.key), name)) {
            found.value = found.count == 0 ? view(field.value) : found.value;
            ++found.count;
        }
    });
    return found;
}

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

ngx_int_t tell(ngx_http_request_t* r, std::string_view type, std::unique_ptr<Document> document) noexcept {
    Telling* telling = make<Telling>(*r->pool, r, type, std::move(document));
    if (telling == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    const std::optional<ngx_int_t> status = telling->go_on();
    if (status) {
        return *status;
    }
    r->write_event_handler = ignore_write;
    telling->wait();
    return NGX_DONE;
}

}  // namespace rate_limit
