#include "core/limit/window.h"

namespace rate_limit {
namespace {

constexpr Millis second = 1000;

}  // namespace

Millis latest_reset(std::int64_t period, Millis now) noexcept {
    return now + period * second + max_skew;
}

bool is_open(const Window& window, std::int64_t period, Millis now) noexcept {
    return now < window.reset && window.reset <= latest_reset(period, now);
}

Millis propose_reset(WindowKind kind, std::int64_t period, Millis now) noexcept {
    const Millis length = period * second;
    if (kind == WindowKind::clock) {
        return (now / length + 1) * length;
    }
    return now + length;
}

std::int64_t reset_seconds(Millis reset) noexcept {
    return reset / second + (reset % second > 0 ? 1 : 0);
}

std::int64_t seconds_until(Millis reset, Millis now) noexcept {
    return reset > now ? reset_seconds(reset - now) : 0;
}

}  // namespace rate_limit
