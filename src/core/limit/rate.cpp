#include "core/limit/rate.h"

#include <charconv>
#include <system_error>

#include "core/decimal.h"

namespace rate_limit {

namespace {

/// Reads the digits at the front of `text` and removes them from it; false if there are none. A number that
/// does not fit into 64 bits is read as `too_large`.
bool take_number(std::string_view& text, std::int64_t too_large, std::int64_t& number) noexcept {
    if (text.empty() || text.front() < '0' || text.front() > '9') {
        return false;
    }
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) {
        number = too_large;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

/// How many seconds one unit has; 0 if there is no such unit.
std::int64_t unit_seconds(std::string_view unit) noexcept {
    if (unit == "s") {
        return 1;
    }
    if (unit == "m") {
        return 60;
    }
    if (unit == "h") {
        return 3600;
    }
    return unit == "d" ? 24 * 3600 : 0;
}

/// The period of a calendar that the text names; none: it is one of the clock.
Calendar calendar_of(std::string_view text, bool local) noexcept {
    return local && (text == "d" || text == "1d") ? Calendar::day
           : text == to_string(Calendar::week)    ? Calendar::week
           : text == to_string(Calendar::month)   ? Calendar::month
                                                  : Calendar::none;
}

}  // namespace

RateError parse_rate(std::string_view text, WindowKind windows, Rate& rate) noexcept {
    std::int64_t limit = 0;
    if (!take_number(text, max_limit + 1, limit) || text.substr(0, 2) != "r/") {
        return RateError::syntax;
    }
    text.remove_prefix(2);
    const bool local = windows == WindowKind::local_day;
    const Calendar calendar = calendar_of(text, local);
    std::int64_t count = 1;
    (void)take_number(text, max_period + 1, count);
    const std::int64_t unit = unit_seconds(text);
    if (calendar == Calendar::none && unit == 0) {
        return RateError::syntax;
    }
    if (limit > max_limit) {
        return RateError::limit_range;
    }
    if (calendar != Calendar::none) {
        const RateError error = local || windows == WindowKind::clock ? RateError::none
                                : windows == WindowKind::bucket       ? RateError::calendar_of_bucket
                                                                      : RateError::calendar_without_clock;
        rate = error == RateError::none ? Rate{limit, longest(calendar), calendar} : rate;
        return error;
    }
    if (count < 1 || count > max_period / unit) {
        return RateError::period_range;
    }
    if (local) {
        return RateError::not_local;
    }
    rate = {limit, count * unit};
    return RateError::none;
}

RateError parse_slots(std::string_view text, Rate& rate) noexcept {
    std::int64_t limit = 0;
    if (!parse_digits(text, limit) || limit > max_limit) {
        return RateError::slots;
    }
    rate = {limit, 1};
    return RateError::none;
}

const char* describe(RateError error) noexcept {
    switch (error) {
        case RateError::none:
            return "the rate is valid";
        case RateError::syntax:
            return "a rate has the form Nr/PERIOD, such as 10r/s, 60r/m, 5000r/h, 100r/10s, 100000r/month";
        case RateError::limit_range:
            return "the limit of a rate must be from 0 to 1000000000000";
        case RateError::period_range:
            return "the period of a rate must be from 1s to 366d";
        case RateError::calendar_without_clock:
            return "a week or a month is one of the calendar: add \"window=clock\", or \"window=local\", or "
                   "write "
                   "a number of days";
        case RateError::calendar_of_bucket:
            return "a token bucket has no weeks and no months: write a number of days, or remove \"burst=\" "
                   "and "
                   "add \"window=clock\"";
        case RateError::not_local:
            return "windows of the local time are days, weeks or months, such as 1000r/d, 5000r/week, "
                   "20000r/month: write one of these, or \"window=clock\"";
        case RateError::slots:
            return "how many requests may run at a time is a whole number from 0 to 1000000000000";
    }
    return "";
}

bool parse_whole(std::string_view text, std::int64_t& number) noexcept {
    while (text.size() > safe_digits && text.front() == '0') {
        text.remove_prefix(1);
    }
    return parse_digits(text, number);
}

bool parse_cost(std::string_view text, std::int64_t& cost) noexcept {
    cost = 1;
    if (text.empty()) {
        return true;
    }
    std::int64_t number = 0;
    if (!parse_whole(text, number) || number > max_cost) {
        return false;
    }
    cost = number;
    return true;
}

}  // namespace rate_limit
