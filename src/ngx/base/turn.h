#pragma once

#include <chrono>

namespace rate_limit {

/// The time that one request for an operator may take of a turn of the event loop: its last step comes on
/// top.
class Turn {
public:
    Turn() noexcept : begun_(Clock::now()) {}

    bool spent() const noexcept { return Clock::now() - begun_ >= longest; }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::microseconds longest{500};

    const Clock::time_point begun_;
};

}  // namespace rate_limit
