#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace rate_limit {

constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

/// The number that a hex digit of either case stands for; -1: it is none.
constexpr int hex_value(char c) noexcept {
    const char lower = static_cast<char>(c | 0x20);
    return is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

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

/// A number of this many digits always fits into 64 bits.
constexpr std::size_t safe_digits = 18;

/// Reads the decimal digits at the front of `text`, at most safe_digits of them, and returns how many it
/// read.
inline std::size_t read_digits(std::string_view text, std::int64_t& number) noexcept {
    const std::size_t most = text.size() < safe_digits ? text.size() : safe_digits;
    std::size_t count = 0;
    number = 0;
    for (; count < most && is_digit(text[count]); ++count) {
        number = number * 10 + (text[count] - '0');
    }
    return count;
}

/// Reads the decimal digits at the front of `text`, without leading zeros, and after a minus sign if there is
/// one, and returns how many bytes it read; 0 where there is no such number or it does not fit. "-0" is none.
inline std::size_t read_integer(std::string_view text, std::int64_t& number) noexcept {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const bool negative = !text.empty() && text.front() == '-';
    text.remove_prefix(negative ? 1 : 0);
    std::size_t count = read_digits(text, number);
    if (count == 0 || (text.front() == '0' && (count != 1 || negative))) {
        return 0;
    }
    if (count == safe_digits && count < text.size() && is_digit(text[count])) {
        const std::int64_t last = text[count] - '0';
        if (number > (most - last) / 10) {
            return 0;  // the least of all numbers, too, whose digits alone do not fit
        }
        number = number * 10 + last;
        ++count;
    }
    number = negative ? -number : number;
    return count + (negative ? 1 : 0);
}

/// Reads a text of 1 to safe_digits decimal digits, several times faster than std::from_chars does. False for
/// any other text; `number` means nothing then.
inline bool parse_digits(std::string_view text, std::int64_t& number) noexcept {
    return !text.empty() && read_digits(text, number) == text.size();
}

}  // namespace rate_limit
