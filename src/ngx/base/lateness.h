#pragma once

#include "ngx/base/timer.h"

namespace rate_limit {

/// Tells a deadline that Redis has missed from one that this worker has: when the worker was busy, or
/// stopped, for a while, its timers fire late, and what it asked just before may not even have been written.
/// Such a deadline is put off once, by as long as the worker was late.
class Lateness {
public:
    /// Called when the timer has fired and something is overdue. True if this worker was late itself, and was
    /// not excused the time before: the caller then judges only after grace().
    bool excuses(const Timer& timer) noexcept {
        const ngx_msec_t late = ngx_current_msec - timer.due();
        excused_ = late >= tolerated && !excused_;
        grace_ = ngx_min(late, longest);
        return excused_;
    }

    /// Milliseconds.
    ngx_msec_t grace() const noexcept { return grace_; }

private:
    static constexpr ngx_msec_t tolerated = 10;  // an ordinary turn of the loop takes less
    static constexpr ngx_msec_t longest = 100;

    bool excused_ = false;  // excuses() was true the last time
    ngx_msec_t grace_ = 0;
};

}  // namespace rate_limit
