#pragma once

#include <algorithm>
#include <cstdint>

#include "limiter/loop.h"
#include "limiter/worker.h"

namespace rate_limit {

/// A clock for what takes less than a millisecond, in which nginx's own clock ticks. It is read once for all
/// that is asked, and once for all that is answered, in a turn of the event loop.
class TurnClock {
public:
    /// Microseconds of a clock that never goes back, at most a millisecond old.
    static std::uint64_t micros() noexcept;

    /// Time has passed: the next micros() reads the clock.
    static void move_on() noexcept { Worker::current().part<TurnClock>().read_ = false; }

    static constexpr WorkerPart part = WorkerPart::clock;

private:
    bool read_ = false;
    std::uint64_t micros_ = 0;
    Msec read_at_ = 0;
};

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
