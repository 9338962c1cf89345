#pragma once

#include <cstdint>

namespace rate_limit {

/// A clock for what takes less than a millisecond, in which nginx's own clock ticks. It is read once for all
/// that is asked, and once for all that is answered, in a turn of the event loop.
class TurnClock {
public:
    /// Microseconds of a clock that never goes back, at most a millisecond old.
    static std::uint64_t micros() noexcept;

    /// Time has passed: the next micros() reads the clock.
    static void move_on() noexcept { read_ = false; }

private:
    static bool read_;
};

}  // namespace rate_limit
