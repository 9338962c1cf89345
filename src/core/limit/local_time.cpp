#include "core/limit/local_time.h"

#include <ctime>

namespace rate_limit {

namespace {

using Seconds = std::int64_t;

/// The number of the day, week or month whose date the zone has then.
std::int64_t number_of(Calendar unit, Seconds at) noexcept {
    const auto time = static_cast<std::time_t>(at);
    std::tm date{};
    (void)localtime_r(&time, &date);
    if (unit == Calendar::month) {
        return std::int64_t{date.tm_year} * 12 + date.tm_mon;
    }
    std::tm midnight{};
    midnight.tm_year = date.tm_year;
    midnight.tm_mon = date.tm_mon;
    midnight.tm_mday = date.tm_mday;
    const std::int64_t days = timegm(&midnight) / seconds_of_day;  // as if the date were one of UTC
    return unit == Calendar::week ? week_of(days) : days;
}

}  // namespace

/// By halves, since a zone may have no midnight on a day, or no such day: what a library makes of a date that
/// is not there differs.
Millis LocalTime::end_of(Calendar unit, Millis now) noexcept {
    Found& found = found_.at(static_cast<std::size_t>(unit));
    if (found.from <= now && now < found.until) {
        return found.until;
    }
    Seconds in = now / 1000;
    const std::int64_t number = number_of(unit, in);
    for (Seconds behind = in + longest(unit); behind - in > 1;) {
        const Seconds middle = in + (behind - in) / 2;
        (number_of(unit, middle) > number ? behind : in) = middle;
        found.until = behind * 1000;
    }
    found.from = now;
    return found.until;
}

}  // namespace rate_limit
