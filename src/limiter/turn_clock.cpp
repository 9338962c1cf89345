#include "limiter/turn_clock.h"

namespace rate_limit {

std::uint64_t TurnClock::micros() noexcept {
    TurnClock& clock = Worker::current().part<TurnClock>();
    if (!clock.read_ || clock.read_at_ != msec_now()) {
        clock.micros_ = static_cast<std::uint64_t>(steady_nanos()) / 1000;
        clock.read_at_ = msec_now();
        clock.read_ = true;
    }
    return clock.micros_;
}

}  // namespace rate_limit
