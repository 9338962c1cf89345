#pragma once

#include "core/queue.h"
#include "ngx/base/ngx.h"

namespace rate_limit {

/// A request that waits for its answers. Its owner sets `request`; while `queued` it stands in the worker's
/// queue of requests to resume.
struct Resumable : Place<Resumable> {
    ngx_http_request_t* request = nullptr;
    bool queued = false;
};

/// Lets the request's phases go on in this turn of the loop, from an event of its own: never within a reply's
/// callback.
void resume_soon(Resumable& resumable) noexcept;

/// Takes the request out of the queue; nothing happens when it is not in it.
void forget_resumption(Resumable& resumable) noexcept;

bool has_resumable_requests() noexcept;

}  // namespace rate_limit
