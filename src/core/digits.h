#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace rate_limit {

/// A number of this many digits always fits into 64 bits.
constexpr std::size_t safe_digits = 18;

/// Reads the decimal digits at the front of `text`, at most safe_digits of them, and returns how many it
/// read.
inline std::size_t read_digits(std::string_view text, std::int64_t& number) noexcept {
    const std::size_t most = text.size() < safe_digits ? text.size() : safe_digits;
    std::size_t count = 0;
    number = 0;
    for (; count < most && text[count] >= '0' && text[count] <= '9'; ++count) {
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
    if (count == safe_digits && count < text.size() && text[count] >= '0' && text[count] <= '9') {
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
