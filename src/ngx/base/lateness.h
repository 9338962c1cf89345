#pragma once

#include "ngx/base/timer.h"

namespace rate_limit {

/// Tells a deadline that Redis has missed from one that this worker has: when the worker was busy, or
/// stopped, for a while, its timers fire late, and what it asked just before may not even have been written.
/// Returns how many milliseconds longer the worker then waits for what was overdue as `timer` fired, at most
/// `most`; 0 where the timer fired on time. Asked before anything sets the timer again.
inline ngx_msec_t grace_after(const Timer& timer, ngx_msec_t most) noexcept {
    constexpr ngx_msec_t tolerated = 10;  // an ordinary turn of the loop takes less
    constexpr ngx_msec_t longest = 100;
    const ngx_msec_t late = ngx_current_msec - timer.due();
    return late < tolerated ? 0 : ngx_min(late, ngx_min(longest, most));
}

}  // namespace rate_limit
