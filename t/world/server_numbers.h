#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rate_limit::world {

constexpr std::string_view no_integer = "ERR value is not an integer or out of range";
constexpr std::string_view wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr std::string_view syntax_error = "ERR syntax error";

/// Reads a number as Redis does: one that it would write in these very bytes.
bool read_integer(std::string_view text, std::int64_t& number) noexcept;

/// Compares a word of a command with one in lower case.
bool is_word(std::string_view text, std::string_view lower) noexcept;

std::string in_lower_case(std::string_view text);

/// Whether the sum has no room in 64 bits.
constexpr bool overflows(std::int64_t one, std::int64_t other) noexcept {
    return other < 0 ? one < INT64_MIN - other : one > INT64_MAX - other;
}

}  // namespace rate_limit::world
