#include "core/limit/window.h"

#include "core/limit/local_time.h"

namespace rate_limit {
namespace {

constexpr Millis second = 1000;
constexpr Millis day = seconds_of_day * second;

/// The days from the epoch to the first day of the month after the one that `days` is in. Years begin in
/// March here, so that the day that may be missing is the last of a year; 400 of them have 146,097 days
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
std::int64_t next_month(std::int64_t days) noexcept {
    constexpr std::int64_t days_to_epoch = 719'468;  // from 0000-03-01
    constexpr std::int64_t days_of_era = 146'097;
    const std::int64_t shifted = days + days_to_epoch;
    const std::int64_t era = shifted / days_of_era;
    const std::int64_t in_era = shifted % days_of_era;
    const std::int64_t year = (in_era - in_era / 1460 + in_era / 36'524 - in_era / 146'096) / 365;
    const std::int64_t year_begin = 365 * year + year / 4 - year / 100;
    const std::int64_t month = (5 * (in_era - year_begin) + 2) / 153;  // 0: March
    const bool last = month == 11;                                     // February
    const std::int64_t next_year = year + 1;
    const std::int64_t next =
        last ? 365 * next_year + next_year / 4 - next_year / 100 + (next_year == 400 ? 1 : 0)
             : year_begin + (153 * (month + 1) + 2) / 5;
    return era * days_of_era + next - days_to_epoch;
}

Millis local_end(Calendar unit, Millis now) noexcept {
    static LocalTime of_process;
    return of_process.end_of(unit, now);
}

}  // namespace

Millis latest_reset(std::int64_t period, Millis now) noexcept {
    return now + period * second + max_skew;
}

bool is_open(const Window& window, std::int64_t period, Millis now) noexcept {
    return now < window.reset && window.reset <= latest_reset(period, now);
}

Millis propose_reset(WindowKind kind, std::int64_t period, Millis now) noexcept {
    const Millis length = period * second;
    switch (kind) {
        case WindowKind::clock:
            return (now / length + 1) * length;
        case WindowKind::week:
            return (7 * week_of(now / day) + 4) * day;
        case WindowKind::month:
            return next_month(now / day) * day;
        case WindowKind::local_day:
            return local_end(Calendar::day, now);
        case WindowKind::local_week:
            return local_end(Calendar::week, now);
        case WindowKind::local_month:
            return local_end(Calendar::month, now);
        case WindowKind::bucket:
            return now;
        case WindowKind::first:
        case WindowKind::slots:
            break;
    }
    return now + length;
}

std::int64_t reset_seconds(Millis reset) noexcept {
    return reset / second + (reset % second > 0 ? 1 : 0);
}

std::int64_t seconds_until(Millis reset, Millis now) noexcept {
    return reset > now ? reset_seconds(reset - now) : 0;
}

}  // namespace rate_limit
