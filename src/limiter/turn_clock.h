#pragma once

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

}  // namespace rate_limit
