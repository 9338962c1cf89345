#pragma once

#include <cstdlib>

namespace rate_limit {

/// Ends the fuzzer, which then reports its input, unless this holds.
inline void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

}  // namespace rate_limit
