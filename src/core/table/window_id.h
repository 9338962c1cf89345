#pragma once

#include <cstddef>
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

/// The hash of an id, which is a digest already: for the standard library's maps.
struct HashOfId {
    std::size_t operator()(const WindowId& id) const noexcept { return static_cast<std::size_t>(id.low); }
};

}  // namespace rate_limit
