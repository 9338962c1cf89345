#pragma once

#include "limiter/loop.h"
#include "ngx/base/resume.h"
#include "ngx/request/body_reading.h"

namespace rate_limit {

/// Reads what nginx has kept of a body that something else has read before, a part in each turn of the event
/// loop: it may have any size, and other requests must not wait for it. Lives in the request's pool; until
/// the body is read the request waits in its phase.
class KeptBody {
public:
    KeptBody(ngx_http_request_t* r, BodyReading& to) noexcept
        : resumable_(r), body_(to), link_(r->request_body->bufs) {}
    ~KeptBody() { stop(); }
    KeptBody(const KeptBody&) = delete;
    KeptBody& operator=(const KeptBody&) = delete;

    /// NGX_OK: it has been read. NGX_AGAIN: the request's phases run again when it has been. Else a status
    /// that the request ends with.
    ngx_int_t read() noexcept;

private:
    bool read_part() noexcept;
    void stop() noexcept;

    Resumable resumable_;
    BodyReading& body_;
    const ngx_chain_t* link_;  // null: there is no more
    off_t at_ = 0;             // so much of its buffer has been read
    Timer next_turn_{this, on_next_turn, Timer::Worker::stays};

    static void on_next_turn(void* self) noexcept;
};

}  // namespace rate_limit
