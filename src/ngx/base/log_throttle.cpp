#include "ngx/base/log_throttle.h"

#include <new>

#include "ngx/base/timer.h"

namespace rate_limit {

namespace {

constexpr ngx_msec_t interval = 1000;

}  // namespace

struct LogThrottle::Untold {
    ngx_queue_t throttles{};
    Timer timer{this, on_timer, Timer::Worker::leaves};

    Untold() noexcept { ngx_queue_init(&throttles); }

    static LogThrottle& at(ngx_queue_t& link) noexcept { return *ngx_queue_data(&link, LogThrottle, link_); }

    /// A throttle may tell again after one interval; two passes a second over all that hold something back
    /// keep the promise of two seconds.
    static void on_timer(void* self) noexcept {
        Untold& all = *static_cast<Untold*>(self);
        ngx_queue_t due;
        ngx_queue_init(&due);
        for (ngx_queue_t* link = ngx_queue_head(&all.throttles);
             link != ngx_queue_sentinel(&all.throttles);) {
            ngx_queue_t* next = ngx_queue_next(link);
            if (ngx_current_msec - at(*link).written_ >= interval) {
                ngx_queue_remove(link);
                ngx_queue_insert_tail(&due, link);
            }
            link = next;
        }
        while (!ngx_queue_empty(&due)) {
            at(*ngx_queue_head(&due)).tell_rest();
        }
        all.arm();
    }

    void arm() noexcept {
        if (!ngx_queue_empty(&throttles) && !timer.armed()) {
            timer.set(interval / 2);
        }
    }
};

LogThrottle::Untold& LogThrottle::untold() noexcept {
    alignas(Untold) static unsigned char memory[sizeof(Untold)];
    static Untold& all = *new (memory) Untold;  // never destroyed, see Timer
    return all;
}

void LogThrottle::tell(ngx_log_t* log) noexcept {
    if (link_.next != nullptr) {
        return;
    }
    if (!ever_written_ || ngx_current_msec - written_ >= interval) {
        write(log);
        return;
    }
    ngx_queue_insert_tail(&untold().throttles, &link_);
    untold().arm();
}

void LogThrottle::tell_rest() noexcept {
    if (link_.next != nullptr) {
        ngx_queue_remove(&link_);
        link_.next = nullptr;
        write(ngx_cycle->log);
    }
}

void LogThrottle::forget() noexcept {
    if (link_.next != nullptr) {
        ngx_queue_remove(&link_);
        link_.next = nullptr;
    }
}

void LogThrottle::write(ngx_log_t* log) noexcept {
    ever_written_ = true;
    written_ = ngx_current_msec;
    write_(owner_, log);
}

void LogThrottle::tell_all_rest() noexcept {
    ngx_queue_t& throttles = untold().throttles;
    while (!ngx_queue_empty(&throttles)) {
        Untold::at(*ngx_queue_head(&throttles)).tell_rest();
    }
}

}  // namespace rate_limit
