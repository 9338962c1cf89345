#include "limiter/turn_clock.h"

#include "limiter/loop.h"

namespace rate_limit {

bool TurnClock::read_ = false;

std::uint64_t TurnClock::micros() noexcept {
    static std::uint64_t read = 0;
    static Msec read_at = 0;
    if (!read_ || read_at != msec_now()) {
        read = static_cast<std::uint64_t>(steady_nanos()) / 1000;
        read_at = msec_now();
        read_ = true;
    }
    return read;
}

}  // namespace rate_limit
