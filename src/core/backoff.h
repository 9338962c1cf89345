#pragma once

#include <algorithm>
#include <cstdint>

namespace rate_limit {

/// Exponential backoff with jitter for one node: the steps are 100 ms, doubling up to 5 s, and each wait is
/// drawn from the upper half of its step, so that the workers of many machines do not all try at once.
class Backoff {
public:
    static constexpr std::uint32_t first_wait = 100;
    static constexpr std::uint32_t longest_wait = 5000;

    /// Milliseconds to wait before the next try; `random` is any 32 random bits.
    std::uint32_t next(std::uint32_t random) noexcept {
        const std::uint32_t half = step_ / 2;
        step_ = std::min(2 * step_, longest_wait);
        return half + random % (half + 1);
    }

    /// Called when the node has answered: after the next failure the first step comes again.
    void reset() noexcept { step_ = first_wait; }

private:
    std::uint32_t step_ = first_wait;
};

}  // namespace rate_limit
