#pragma once

#include <cstdint>

namespace rate_limit {

/// A keyed 128-bit digest of a window's identity (store, name, period, window kind, key), by which the table
/// finds its record.
struct WindowId {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend bool operator==(const WindowId& a, const WindowId& b) noexcept {
        return a.high == b.high && a.low == b.low;
    }
    friend bool operator!=(const WindowId& a, const WindowId& b) noexcept { return !(a == b); }
};

}  // namespace rate_limit
