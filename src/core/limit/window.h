#pragma once

#include <cstdint>
#include <string_view>

#include "core/limit/calendar.h"

namespace rate_limit {

enum class WindowKind : std::uint8_t {
    first,        ///< a window opens with the first charge and lasts one period
    clock,        ///< the windows are the periods of the UTC clock, counted from the epoch
    week,         ///< the windows are the weeks of the UTC calendar, from Monday on
    month,        ///< and its months
    local_day,    ///< the windows are the days of the time zone that the process runs in: see LocalTime
    local_week,   ///< and its weeks
    local_month,  ///< and its months
    bucket,       ///< no windows: a token bucket, which is refilled all the time
    slots,        ///< no windows: slots, which are taken while requests run; their period is a second
};

/// Whether windows end when a clock says so, whenever they opened.
constexpr bool is_by_clock(WindowKind kind) noexcept {
    return kind != WindowKind::first && kind < WindowKind::bucket;
}

/// The letters behind the period in the keys of a kind, so that two kinds never share one.
constexpr std::string_view suffix_of(WindowKind kind) noexcept {
    return kind == WindowKind::first      ? ""
           : kind == WindowKind::bucket   ? "b"
           : kind == WindowKind::slots    ? "n"
           : kind < WindowKind::local_day ? "c"
                                          : "l";
}

/// The count of a window stops here, at a number that Lua holds exactly: see lua/charge.lua. A sum stops
/// there, too.
constexpr std::int64_t most_used = 9'000'000'000'000'000;

constexpr std::int64_t add_used(std::int64_t a, std::int64_t b) noexcept {
    return a < most_used - b ? a + b : most_used;
}

/// One client's window as a store holds it.
struct Window {
    std::int64_t used = 0;  ///< cost units charged so far
    Millis reset = 0;       ///< the window's end; 0: there is no window
};

/// How far a stored reset may lie beyond now + period. One beyond that was written by a machine whose clock
/// is wrong, and is not believed.
constexpr Millis max_skew = 60'000;

/// The latest reset that a store may name for a window of this period.
Millis latest_reset(std::int64_t period, Millis now) noexcept;

/// True while now < reset <= latest_reset(period, now).
bool is_open(const Window& window, std::int64_t period, Millis now) noexcept;

/// The end of a window that would open now: now + period, or the end of the current period of the clock or
/// the calendar; of a full bucket, now.
Millis propose_reset(WindowKind kind, std::int64_t period, Millis now) noexcept;

/// A reset in UTC epoch seconds, rounded up, as clients see it.
std::int64_t reset_seconds(Millis reset) noexcept;

/// Whole seconds until the reset, rounded up, never below 0.
std::int64_t seconds_until(Millis reset, Millis now) noexcept;

}  // namespace rate_limit
