#include "limiter/log_throttle.h"

#include <utility>

#include "limiter/loop.h"
#include "limiter/worker.h"

namespace rate_limit {

namespace {

constexpr Msec throttle_interval = 1000;

}  // namespace

struct LogThrottle::Untold {
    static constexpr WorkerPart part = WorkerPart::throttles;

    Queue<LogThrottle> throttles;
    Timer timer{this, on_timer, Timer::Worker::leaves};

    /// A throttle may tell again after one interval; two passes a second over all that hold something back
    /// keep the promise of two seconds.
    static void on_timer(void* self) noexcept {
        Untold& all = *static_cast<Untold*>(self);
        Queue<LogThrottle> due;
        for (LogThrottle* throttle = all.throttles.first(); throttle != nullptr;) {
            LogThrottle* next = all.throttles.after(*throttle);
            if (msec_now() - throttle->written_ >= throttle_interval) {
                Queue<LogThrottle>::remove(*throttle);
                due.push(*throttle);
            }
            throttle = next;
        }
        while (!due.empty()) {
            due.front().tell_rest();
        }
        all.arm();
    }

    void arm() noexcept {
        if (!throttles.empty() && !timer.armed()) {
            timer.set(throttle_interval / 2);
        }
    }
};

LogThrottle::Untold& LogThrottle::untold() noexcept {
    return Worker::current().part<Untold>();
}

void LogThrottle::tell(Log& log) noexcept {
    if (held_back_) {
        return;
    }
    if (!ever_written_ || msec_now() - written_ >= throttle_interval) {
        write(log);
        return;
    }
    held_back_ = true;
    untold().throttles.push(*this);
    untold().arm();
}

void LogThrottle::tell_rest() noexcept {
    if (held_back_) {
        forget();
        write(process_log());
    }
}

void LogThrottle::forget() noexcept {
    if (std::exchange(held_back_, false)) {
        Queue<LogThrottle>::remove(*this);
    }
}

void LogThrottle::write(Log& log) noexcept {
    ever_written_ = true;
    written_ = msec_now();
    write_(owner_, log);
}

void LogThrottle::tell_all_rest() noexcept {
    Queue<LogThrottle>& throttles = untold().throttles;
    while (!throttles.empty()) {
        throttles.front().tell_rest();
    }
}

}  // namespace rate_limit
