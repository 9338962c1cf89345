#pragma once

#include <cstdint>

namespace rate_limit {

/// Takes one of sixteen events on average. The gaps are drawn at random, 1 to 31 events with the same
/// probability: what repeats with a period is taken as often as anything else.
class RandomSample {
public:
    /// Another `seed` takes others. 0 is taken for another one.
    explicit RandomSample(std::uint64_t seed) noexcept : state_(seed != 0 ? seed : 1) { draw(); }

    /// There is an event: whether it is taken.
    bool take() noexcept {
        if (--left_ != 0) {
            return false;
        }
        draw();
        return true;
    }

    /// How many events there were, taken or not, since the last call.
    std::uint64_t take_seen() noexcept {
        const std::uint64_t seen = drawn_ - left_ - told_;
        told_ += seen;
        return seen;
    }

private:
    static constexpr std::uint32_t longest = 31;

    /// Marsaglia's xorshift64.
    void draw() noexcept {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        left_ = 1 + static_cast<std::uint32_t>(((state_ >> 32U) * longest) >> 32U);
        drawn_ += left_;
    }

    std::uint32_t left_ = 0;  // events until one is taken, that one included
    std::uint64_t state_;
    std::uint64_t drawn_ = 0;  // the sum of all gaps
    std::uint64_t told_ = 0;
};

}  // namespace rate_limit
