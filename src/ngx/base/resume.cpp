#include "ngx/base/resume.h"

namespace rate_limit {

namespace {

/// One posted event per worker over a queue of requests.
struct Queue {
    ngx_queue_t requests{};
    ngx_event_t event{};
    ngx_connection_t connection{};  // what nginx's debug logging of events looks at

    Queue() noexcept {
        ngx_queue_init(&requests);
        connection.fd = static_cast<ngx_socket_t>(-1);
        event.data = &connection;
        event.handler = on_posted;
    }

    static void on_posted(ngx_event_t* event) noexcept;
};

Queue& queue() noexcept {
    static Queue queue;
    return queue;
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
void Queue::on_posted(ngx_event_t* /*event*/) noexcept {
    ngx_queue_t& requests = queue().requests;
    while (!ngx_queue_empty(&requests)) {
        auto* resumable = ngx_queue_data(ngx_queue_head(&requests), Resumable, link);
        forget_resumption(*resumable);
        resume(resumable->request);
    }
}

}  // namespace

void resume_soon(Resumable& resumable) noexcept {
    if (resumable.queued) {
        return;
    }
    Queue& all = queue();
    resumable.queued = true;
    ngx_queue_insert_tail(&all.requests, &resumable.link);
    all.event.log = ngx_cycle->log;
    ngx_post_event(&all.event, &ngx_posted_events);
}

void forget_resumption(Resumable& resumable) noexcept {
    if (resumable.queued) {
        resumable.queued = false;
        ngx_queue_remove(&resumable.link);
    }
}

bool has_resumable_requests() noexcept {
    return !ngx_queue_empty(&queue().requests);
}

}  // namespace rate_limit
