#pragma once

#include "core/queue.h"
#include "ngx/base/ngx.h"

namespace rate_limit {

/// A request that waits for its answers, or for its turn. While `queued` it stands in the worker's queue of
/// requests to resume.
struct Resumable : Place<Resumable> {
    explicit Resumable(ngx_http_request_t* r) noexcept : request(r), of_post_action(r->post_action != 0) {}

    ngx_http_request_t* const request;
    const bool of_post_action;  // it is post_action's location that waits
    bool queued = false;
};

/// Lets the request's phases go on in this turn of the loop, from an event of its own: never within a reply's
/// callback. Where the client has left while the request waited, and post_action runs instead, that goes on
/// by itself.
void resume_soon(Resumable& resumable) noexcept;

/// Takes the request out of the queue; nothing happens when it is not in it.
void forget_resumption(Resumable& resumable) noexcept;

bool has_resumable_requests() noexcept;

/// The write handler of a request that waits and whose end is certain to come: its socket may become writable
/// at any time, and there is nothing to do then.
void ignore_write(ngx_http_request_t* r) noexcept;

/// Lets a request wait in its phase until it is resumed. It ends where its client leaves; that of
/// post_action, whose client has its response, stays. nginx may end it at any time: on_end(owner) is called
/// then, and nothing may resume it from there on. NGX_AGAIN; else a status: the request cannot wait.
ngx_int_t wait_in_phase(ngx_http_request_t* r, ngx_http_cleanup_pt on_end, void* owner) noexcept;

}  // namespace rate_limit
