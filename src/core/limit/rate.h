#pragma once

#include <cstdint>
#include <string_view>

#include "core/limit/window.h"

namespace rate_limit {

/// How much one client may spend in one window.
struct Rate {
    std::int64_t limit = 0;   ///< cost units in one window, 0 to max_limit
    std::int64_t period = 0;  ///< length of a window in seconds, 1 to max_period; longest() of a calendar's
    Calendar calendar = Calendar::none;  ///< the windows are such periods: of UTC, or of a time zone
};

constexpr std::int64_t max_limit = 1'000'000'000'000;
constexpr std::int64_t max_period = 366LL * 24 * 3600;

/// The kind of the windows of such periods, where those of others are of this kind.
constexpr WindowKind kind_in(Calendar unit, WindowKind others) noexcept {
    const bool local = others == WindowKind::local_day;
    if (unit == Calendar::none || (!local && others != WindowKind::clock)) {
        return others;
    }
    return unit == Calendar::week    ? local ? WindowKind::local_week : WindowKind::week
           : unit == Calendar::month ? local ? WindowKind::local_month : WindowKind::month
                                     : WindowKind::local_day;
}

enum class RateError : std::uint8_t {
    none,
    syntax,
    limit_range,
    period_range,
    calendar_without_clock,
    calendar_of_bucket,
    not_local,
    slots,
};

/// Parses `Nr/PERIOD`, where PERIOD is an optional count and one of s, m, h, d: `10r/s`, `100r/10s`; or, for
/// limits whose windows go by the clock (WindowKind::clock) or by a time zone (local_day), `week` or `month`.
/// Windows of a time zone have one of these, or `d`. Accepts no sign, space or fraction. Writes to `rate`
/// only when it returns RateError::none.
RateError parse_rate(std::string_view text, WindowKind windows, Rate& rate) noexcept;

/// Parses how many requests may run at a time, as a rate with the period that slots have; else
/// RateError::slots.
RateError parse_slots(std::string_view text, Rate& rate) noexcept;

constexpr bool same_period(const Rate& a, const Rate& b) noexcept {
    return a.period == b.period && a.calendar == b.calendar;
}

/// One sentence for a configuration error: what is wrong and what is allowed.
const char* describe(RateError error) noexcept;

/// Tokens that a configuration may have taken at a time.
constexpr std::int64_t max_lease = 1'000'000'000;

constexpr std::int64_t max_cost = 1'000'000'000'000;

/// Parses decimal digits; false for any other text, and for a number of more than 18 digits without those of
/// its zeros that stand first.
bool parse_whole(std::string_view text, std::int64_t& number) noexcept;

/// Parses a cost: decimal digits, 0 to max_cost; an empty text means 1. For any other text it returns false
/// and sets `cost` to 1, so that a request whose cost cannot be read is not free.
bool parse_cost(std::string_view text, std::int64_t& cost) noexcept;

}  // namespace rate_limit
