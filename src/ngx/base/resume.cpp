#include "ngx/base/resume.h"

namespace rate_limit {

namespace {

/// The requests of this worker that go on at the end of this turn.
struct Resumptions {
    Queue<Resumable> requests;
    Timer turn_end{this, on_turn_end, Timer::Worker::stays};

    static void on_turn_end(void* resumptions) noexcept;
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
void Resumptions::on_turn_end(void* resumptions) noexcept {
    Queue<Resumable>& requests = static_cast<Resumptions*>(resumptions)->requests;
    while (!requests.empty()) {
        Resumable& next = requests.front();
        forget_resumption(next);
        if (next.of_post_action == (next.request->post_action != 0)) {
            resume(next.request);
        }
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
    if (!all.turn_end.armed()) {
        all.turn_end.set_to_end_of_turn();
    }
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
