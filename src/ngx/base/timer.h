#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

/// One timer of the worker's event loop. When its time has come it calls its owner, once. It is cleared when
/// it is destroyed, so an owner of static storage, which is destroyed after nginx's own timers, must never be
/// destroyed.
class Timer {
public:
    using Callback = void (*)(void* owner) noexcept;

    /// What a worker that is to end does while the timer is armed.
    enum class Worker : unsigned char { stays, leaves };

    Timer(void* owner, Callback callback, Worker worker) noexcept;
    ~Timer() { clear(); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    /// Lets it fire `wait` milliseconds from now, and not at the time it was set to before.
    void set(ngx_msec_t wait) noexcept {
        clear();  // ngx_add_timer() alone ignores changes under NGX_TIMER_LAZY_DELAY
        event_.log = ngx_cycle->log;
        ngx_add_timer(&event_, wait);
        due_ = event_.timer.key;  // nginx clears the key before it calls the handler
    }

    /// Lets it fire at the end of this turn of the event loop.
    void set_to_end_of_turn() noexcept {
        clear();
        event_.log = ngx_cycle->log;
        ngx_post_event(&event_, &ngx_posted_events);
        due_ = ngx_current_msec;
    }

    void clear() noexcept {
        if (event_.timer_set) {
            ngx_del_timer(&event_);
        }
        if (event_.posted) {
            ngx_delete_posted_event(&event_);
        }
    }

    bool armed() const noexcept { return event_.timer_set || event_.posted; }

    /// When it fires or fired, in terms of ngx_current_msec. It has been set.
    ngx_msec_t due() const noexcept { return due_; }

    /// True stands for Worker::stays. Also for an armed timer.
    void keep_worker(bool keeps) noexcept { event_.cancelable = !keeps; }
    bool keeps_worker() const noexcept { return !event_.cancelable; }

private:
    static void on_event(ngx_event_t* event) noexcept;

    ngx_event_t event_{};
    void* const owner_;
    const Callback callback_;
    ngx_msec_t due_ = 0;
};

}  // namespace rate_limit
