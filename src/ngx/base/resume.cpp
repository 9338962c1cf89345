#include "ngx/base/resume.h"

namespace rate_limit {

namespace {

/// One posted event per worker over a queue of requests.
struct Resumptions {
    Queue<Resumable> requests;
    ngx_event_t event{};
    ngx_connection_t connection{};  // nginx's debug logging of events looks at it

    Resumptions() noexcept {
        connection.fd = static_cast<ngx_socket_t>(-1);
        event.data = &connection;
        event.handler = on_posted;
    }

    static void on_posted(ngx_event_t* event) noexcept;
};

Resumptions& resumptions() noexcept {
    static Resumptions all;
    return all;
}

void resume(ngx_http_request_t* r) noexcept {
    ngx_connection_t* connection = r->connection;
    ngx_http_set_log_request(connection->log, r);

    if (ngx_handle_read_event(connection->read, 0) != NGX_OK) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
    } else {
        r->read_event_handler = ngx_http_block_reading;
        r->write_event_handler = ngx_http_core_run_phases;
        ngx_http_core_run_phases(r);
    }
    // The request may be gone; its connection is not before its posted requests have run.
    ngx_http_run_posted_requests(connection);
}

/// Takes from the head until the queue is empty: resuming one request may end or queue others.
void Resumptions::on_posted(ngx_event_t* /*event*/) noexcept {
    Queue<Resumable>& requests = resumptions().requests;
    while (!requests.empty()) {
        Resumable& next = requests.front();
        forget_resumption(next);
        resume(next.request);
    }
}

}  // namespace

void resume_soon(Resumable& resumable) noexcept {
    if (resumable.queued) {
        return;
    }
    Resumptions& all = resumptions();
    resumable.queued = true;
    all.requests.push(resumable);
    all.event.log = ngx_cycle->log;
    ngx_post_event(&all.event, &ngx_posted_events);
}

void forget_resumption(Resumable& resumable) noexcept {
    if (resumable.queued) {
        resumable.queued = false;
        Queue<Resumable>::remove(resumable);
    }
}

bool has_resumable_requests() noexcept {
    return !resumptions().requests.empty();
}

}  // namespace rate_limit
