#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rate_limit {

/// Milliseconds; points in time count from the UTC epoch.
using Millis = std::int64_t;

constexpr std::int64_t seconds_of_day = 86'400;

/// Periods that a calendar has, which are not all of one length.
enum class Calendar : std::uint8_t { none, day, week, month };
constexpr std::size_t calendars = 4;

/// No such period is longer, in seconds, nor where a zone puts its clock back by up to two hours in it.
constexpr std::int64_t longest(Calendar unit) noexcept {
    const std::int64_t days = unit == Calendar::day ? 1 : unit == Calendar::week ? 7 : 31;
    constexpr std::int64_t two_hours = 7200;
    return days * seconds_of_day + two_hours;
}

/// The word for it in a rate, and for operators; `none` has none.
constexpr std::string_view to_string(Calendar unit) noexcept {
    return unit == Calendar::day     ? "day"
           : unit == Calendar::week  ? "week"
           : unit == Calendar::month ? "month"
                                     : "";
}

/// The number of the week, from Monday on, that a day is in. Days count from the epoch, a Thursday.
constexpr std::int64_t week_of(std::int64_t days) noexcept {
    return (days + 3) / 7;
}

}  // namespace rate_limit
