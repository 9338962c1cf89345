#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// The upper bounds of a histogram of waits, in microseconds; what is longer has a bucket of its own.
constexpr std::array<std::uint32_t, 12> wait_bounds{250,    500,    1000,    2500,    5000,    10'000,
                                                    25'000, 50'000, 100'000, 250'000, 500'000, 1'000'000};
constexpr std::size_t wait_buckets = wait_bounds.size() + 1;

/// The bucket of a wait of so many microseconds: the first whose bound it does not pass.
constexpr std::size_t wait_bucket(std::uint64_t micros) noexcept {
    std::size_t bucket = 0;
    while (bucket < wait_bounds.size() && micros > wait_bounds[bucket]) {
        ++bucket;
    }
    return bucket;
}

}  // namespace rate_limit
