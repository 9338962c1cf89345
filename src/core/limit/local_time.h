#pragma once

#include <array>

#include "core/limit/calendar.h"

namespace rate_limit {

/// Days, weeks and months of the time zone that the process runs in, with its summer time. The C library must
/// know the zone (tzset()).
class LocalTime {
public:
    /// The end of the day, week or month that `now` is in: when the date of the next one begins. Weeks begin
    /// on Mondays. Above `now` by at most longest(unit).
    Millis end_of(Calendar unit, Millis now) noexcept;

private:
    /// The end that was found last, of all times from `from` on.
    struct Found {
        Millis from = 0;
        Millis until = 0;
    };
    std::array<Found, calendars> found_{};
};

}  // namespace rate_limit
