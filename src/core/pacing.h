#pragma once

#include <algorithm>
#include <cstdint>

namespace rate_limit {

// How often a worker sends something: after failures, to a second node, and while much comes.

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

/// Tells whether events come so densely that waiting for more of them pays. Counts them in slots of the
/// clock, in milliseconds of any epoch.
class Traffic {
public:
    /// `slot`: how long the caller would wait. `dense`: how many events in that time are worth it.
    Traffic(std::uint64_t slot, std::uint32_t dense) noexcept : slot_(slot), dense_(dense) {}

    void add(std::uint64_t now) noexcept {
        if (now - begin_ >= slot_) {
            last_ = now - begin_ < 2 * slot_ ? count_ : 0;
            begin_ = now;
            count_ = 0;
        }
        ++count_;
    }

    /// Whether events were dense at the latest one.
    bool is_dense() const noexcept { return count_ >= dense_ || last_ >= dense_; }

private:
    std::uint64_t slot_;
    std::uint32_t dense_;
    std::uint32_t count_ = 0;  // in the slot that began at `begin_`
    std::uint32_t last_ = 0;   // in the slot before it
    std::uint64_t begin_ = 0;
};

}  // namespace rate_limit
