#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/limit/window.h"

namespace rate_limit {

// Numbers and times as people read and write them. What returns a text throws std::bad_alloc.

/// With a comma before each three digits.
std::string grouped(std::uint64_t number);

/// A part of a whole: `12%`, below ten percent with a decimal, and `0%` only where the part is 0; `–` of
/// nothing. A part that is not the whole is at most `99.9%`.
std::string share(std::uint64_t part, std::uint64_t whole);

/// How long: `7 s`, `12 min`, `5 h`, `3 d`, in whole units. Below 0 it is 0.
std::string duration(Millis millis);

/// `2026-11-23 09:34:27 UTC`.
std::string utc(Millis time);

/// A time in UTC for programs: `2026-11-23T09:34:27Z`.
std::string iso_time(Millis time);

/// `1 node`, `2 nodes`.
std::string counted(std::uint64_t number, std::string_view noun);

/// Seconds of a time as nginx's directives take it, such as `90`, `10m` or `1h 30m`: units from years to
/// seconds, the greater before the smaller, and spaces after each. Nothing: it is no such time, or above what
/// the number holds.
std::optional<std::int64_t> parse_seconds(std::string_view text) noexcept;

}  // namespace rate_limit
