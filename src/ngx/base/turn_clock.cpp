#include "ngx/base/turn_clock.h"

#include <ctime>

#include "ngx/base/ngx.h"

namespace rate_limit {

bool TurnClock::read_ = false;

std::uint64_t TurnClock::micros() noexcept {
    static std::uint64_t read = 0;
    static ngx_msec_t read_at = 0;
    if (!read_ || read_at != ngx_current_msec) {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        read = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 +
               static_cast<std::uint64_t>(now.tv_nsec) / 1000;
        read_at = ngx_current_msec;
        read_ = true;
    }
    return read;
}

}  // namespace rate_limit
