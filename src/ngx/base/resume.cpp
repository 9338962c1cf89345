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

void ignore_write(ngx_http_request_t* r) noexcept {
    (void)ngx_handle_write_event(r->connection->write, 0);  // if it fails, so will the response
}

ngx_int_t wait_in_phase(ngx_http_request_t* r, ngx_http_cleanup_pt on_end, void* owner) noexcept {
    ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r, 0);
    if (cleanup == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    cleanup->handler = on_end;
    cleanup->data = owner;

    ngx_event_t* read = r->connection->read;
    if (read->ready) {
        ngx_post_event(read, &ngx_posted_events);
    } else if (ngx_handle_read_event(read, 0) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    r->read_event_handler = r->post_action != 0 ? ngx_http_block_reading : ngx_http_test_reading;
    r->write_event_handler = ignore_write;
    return NGX_AGAIN;
}

}  // namespace rate_limit
