#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rate_limit {

/// Digits and sign of any 64-bit number.
constexpr std::size_t max_number = 20;

/// Writes `text` at `out`, which has room for it, and returns the new end.
inline char* append(char* out, std::string_view text) noexcept {
    if (!text.empty()) {
        std::memcpy(out, text.data(), text.size());
    }
    return out + text.size();
}

/// Writes a number in decimal at `out`, which has room for max_number bytes.
inline char* append(char* out, std::int64_t number) noexcept {
    return std::to_chars(out, out + max_number, number).ptr;
}

}  // namespace rate_limit
