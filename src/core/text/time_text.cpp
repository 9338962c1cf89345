#include "core/text/time_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace rate_limit {

namespace {

struct Unit {
    char name;
    std::int64_t seconds;
};

constexpr Unit units[] = {{'y', 31'536'000}, {'M', 2'592'000}, {'w', 604'800}, {'d', 86'400},
                          {'h', 3'600},      {'m', 60},        {'s', 1}};

bool add(std::int64_t number, std::int64_t seconds, std::int64_t& total) noexcept {
    return !__builtin_mul_overflow(number, seconds, &number) &&
           !__builtin_add_overflow(total, number, &total);
}

}  // namespace

std::optional<std::int64_t> parse_seconds(std::string_view text) noexcept {
    if (text.empty()) {
        return std::nullopt;
    }
    std::int64_t total = 0;
    const Unit* next = std::begin(units);  // the greatest unit that may come
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        std::int64_t number = 0;
        const auto parsed = std::from_chars(at, end, number);
        if (parsed.ec != std::errc() || number < 0) {
            return std::nullopt;
        }
        at = parsed.ptr;
        // Seconds need no unit in the end.
        const char name = at != end && *at != ' ' ? *at++ : 's';
        const Unit* const unit =
            std::find_if(next, std::end(units), [name](const Unit& of) { return of.name == name; });
        if (unit == std::end(units) || !add(number, unit->seconds, total)) {
            return std::nullopt;
        }
        next = unit + 1;
        at = std::find_if(at, end, [](char c) { return c != ' '; });
    }
    return total;
}

}  // namespace rate_limit
