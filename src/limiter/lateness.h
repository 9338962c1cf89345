#pragma once

#include <algorithm>

#include "limiter/loop.h"

namespace rate_limit {

/// Tells a deadline that Redis has missed from one that this worker has: when the worker was busy, or
/// stopped, for a while, its timers fire late, and what it asked just before may not even have been written.
/// Returns how many milliseconds longer the worker then waits for what was overdue as `timer` fired, at most
/// `most`; 0 where the timer fired on time. Asked before anything sets the timer again.
inline Msec grace_after(const Timer& timer, Msec most) noexcept {
    constexpr Msec tolerated = 10;  // an ordinary turn of the loop takes less
    constexpr Msec longest = 100;
    const Msec late = msec_now() - timer.due();
    return late < tolerated ? 0 : std::min(late, std::min(longest, most));
}

}  // namespace rate_limit
