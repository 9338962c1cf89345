#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rate_limit {

/// The most bytes that a 64-bit number takes: its digits and sign.
constexpr std::size_t max_number = 20;

namespace decimal {

/// "00" to "99", one behind the other.
inline constexpr auto pairs = [] {
    std::array<char, 200> text{};
    for (std::size_t i = 0; i < 100; ++i) {
        text[2 * i] = static_cast<char>('0' + i / 10);
        text[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return text;
}();

/// At index i: the least number that has i + 1 digits, except 0 at index 0.
inline constexpr auto least = [] {
    std::array<std::uint64_t, max_number> numbers{};
    std::uint64_t power = 1;
    for (std::size_t i = 1; i < numbers.size(); ++i) {
        power *= 10;
        numbers[i] = power;
    }
    return numbers;
}();

inline std::size_t digits(std::uint64_t number) noexcept {
    const auto bits = static_cast<unsigned>(64 - __builtin_clzll(number | 1));
    // The fewest digits of a number with that many bits, less one: 1233 / 4096 is about log10(2).
    const std::size_t fewest = bits * 1233 >> 12;
    return fewest + (number >= least[fewest] ? 1 : 0);
}

}  // namespace decimal

/// Writes `text` at `out`, which has room for it, and returns the new end.
inline char* append(char* out, std::string_view text) noexcept {
    if (!text.empty()) {
        std::memcpy(out, text.data(), text.size());
    }
    return out + text.size();
}

/// Writes a number in decimal at `out`, which has room for max_number bytes, and returns the new end. It
/// writes two digits at a time, from a constant table; std::to_chars may build its table anew for each
/// number.
inline char* append(char* out, std::int64_t number) noexcept {
    auto left = static_cast<std::uint64_t>(number);
    if (number < 0) {
        *out++ = '-';
        left = 0 - left;
    }
    char* const end = out + decimal::digits(left);
    char* at = end;
    for (; left >= 100; left /= 100) {
        at -= 2;
        std::memcpy(at, &decimal::pairs[left % 100 * 2], 2);
    }
    if (left >= 10) {
        std::memcpy(out, &decimal::pairs[left * 2], 2);
    } else {
        *out = static_cast<char>('0' + left);
    }
    return end;
}

}  // namespace rate_limit
