#include "core/topology/refresh_gate.h"

#include <algorithm>

namespace rate_limit {
namespace {

/// The interval of `pace`, longer or shorter by a random part of its jitter.
Millis draw_interval(const Pace& pace, std::uint32_t random) noexcept {
    const Millis most = pace.interval * pace.jitter_percent / 100;
    return pace.interval - most + random % (2 * most + 1);
}

}  // namespace

void RefreshGate::refreshed(bool useful, Millis now) noexcept {
    gap_ = useful || !hinted_ ? pace_.least_gap : std::min(2 * gap_, pace_.most_gap);
    last_ = now;
    interval_ = -1;
    begun_ = true;
    hinted_ = false;
}

Millis RefreshGate::next(Millis now, std::uint32_t random) noexcept {
    if (!begun_) {
        return 0;
    }
    if (interval_ < 0) {
        interval_ = draw_interval(pace_, random);
    }
    last_ = std::min(last_, now);
    const Millis wait = hinted_ ? std::min(gap_, interval_) : interval_;
    return std::max<Millis>(last_ + wait - now, 0);
}

}  // namespace rate_limit
