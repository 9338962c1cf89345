#include "ngx/console/telling.h"

#include <optional>
#include <utility>

#include "limiter/loop.h"
#include "ngx/base/response.h"
#include "ngx/console/answer.h"

namespace rate_limit {

namespace {

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
