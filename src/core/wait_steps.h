#pragma once

#include <cstddef>
#include <cstdint>

namespace rate_limit {

// Waits of 2, 3, 4, 6, 8, 12 and so on milliseconds, numbered from 1: each is twice as long as the last but
// one.

constexpr std::uint64_t length_of_step(std::size_t step) noexcept {
    return step % 2 == 0 ? std::uint64_t{3} << (step / 2 - 1) : std::uint64_t{1} << (step + 1) / 2;
}

/// The longest one of at most so many milliseconds; where that is less than 2, the first one.
constexpr std::size_t step_of_at_most(std::uint64_t millis) noexcept {
    if (millis < 2) {
        return 1;
    }
    const auto power = 63U - static_cast<unsigned>(__builtin_clzll(millis));
    return 2 * power - 1 + (millis >> (power - 1) & 1);
}

/// The shortest one of at least so many milliseconds.
constexpr std::size_t step_of_at_least(std::uint64_t millis) noexcept {
    return millis <= 2 ? 1 : step_of_at_most(millis - 1) + 1;
}

}  // namespace rate_limit
