#pragma once

#include "core/queue.h"
#include "ngx/base/ngx.h"

namespace rate_limit {

/// A request that waits for its answers. While `queued` it stands in the worker's queue of requests to resume.
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

}  // namespace rate_limit
