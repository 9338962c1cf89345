#pragma once

#include <algorithm>
#include <cstdint>

namespace rate_limit {

/// How many checks may be asked of a second node because the first one is silent: in any second at most a
/// tenth of the checks of that second or of the one before, whichever had more, and always `least`. More
/// would give the load of a slow node to the others, which then get slow as well. Seconds are slots of the
/// caller's clock, in milliseconds of any epoch.
class HedgeBudget {
public:
    static constexpr std::uint64_t second = 1000;
    static constexpr std::uint32_t least = 20;
    static constexpr std::uint32_t part = 10;

    /// A check begins.
    void begin(std::uint64_t now) noexcept {
        turn_to(now);
        ++checks_;
    }

    /// True if another hedge may be sent; it is counted.
    bool take(std::uint64_t now) noexcept {
        turn_to(now);
        const bool left = hedges_ < std::max(least, std::max(checks_, before_) / part);
        hedges_ += left ? 1 : 0;
        return left;
    }

private:
    void turn_to(std::uint64_t now) noexcept {
        const std::uint64_t passed = now - begin_;
        if (passed >= second) {
            before_ = passed < 2 * second ? checks_ : 0;
            begin_ = now - passed % second;
            checks_ = 0;
            hedges_ = 0;
        }
    }

    std::uint64_t begin_ = 0;   // when the present second began
    std::uint32_t checks_ = 0;  // in it
    std::uint32_t before_ = 0;  // in the second before
    std::uint32_t hedges_ = 0;  // in the present one
};

}  // namespace rate_limit
