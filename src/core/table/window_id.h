#pragma once

#include <cstdint>

namespace rate_limit {

/// What a window's identity (store, name, period, window kind, key) is found by: a keyed 128-bit digest.
struct WindowId {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend bool operator==(const WindowId& a, const WindowId& b) noexcept {
        return a.high == b.high && a.low == b.low;
    }
    friend bool operator!=(const WindowId& a, const WindowId& b) noexcept { return !(a == b); }
};

}  // namespace rate_limit
