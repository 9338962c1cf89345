#pragma once

#include <cstddef>
#include <cstdint>
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

/// Reads a text of 1 to safe_digits decimal digits, several times faster than std::from_chars does. False for
/// any other text; `number` means nothing then.
inline bool parse_digits(std::string_view text, std::int64_t& number) noexcept {
    return !text.empty() && read_digits(text, number) == text.size();
}

}  // namespace rate_limit
