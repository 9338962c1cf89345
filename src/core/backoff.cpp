#include "core/backoff.h"

#include <algorithm>

namespace rate_limit {

std::uint32_t Backoff::next(std::uint32_t random) noexcept {
    const std::uint32_t half = step_ / 2;
    step_ = std::min(2 * step_, longest_wait);
    return half + random % (half + 1);
}

}  // namespace rate_limit
