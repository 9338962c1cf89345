#include "core/text/figure_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <iterator>

namespace rate_limit {

namespace {

std::string written(Millis time, const char* format) {
    const auto seconds = static_cast<std::time_t>(time / 1000);
    std::tm parts{};
    std::array<char, 40> text{};
    if (gmtime_r(&seconds, &parts) == nullptr) {
        return {};
    }
    return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

struct Unit {
    char name;
    std::int64_t seconds;
};

constexpr Unit units[] = {{'y', 31'536'000}, {'M', 2'592'000}, {'w', 604'800}, {'d', 86'400},
                          {'h', 3'600},      {'m', 60},        {'s', 1}};

bool add_units(std::int64_t number, std::int64_t seconds, std::int64_t& total) noexcept {
    return !__builtin_mul_overflow(number, seconds, &number) &&
           !__builtin_add_overflow(total, number, &total);
}

}  // namespace

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3; at -= 3) {
        text.insert(at - 3, 1, ',');
    }
    return text;
}

std::string share(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) {
        return "–";
    }
    const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    if (part == 0 || part == whole) {
        return part == 0 ? "0%" : "100%";
    }
    std::array<char, 32> text{};
    const bool fine = percent < 10 || (percent > 99 && percent < 100);
    (void)std::snprintf(text.data(), text.size(), fine ? "%.1f%%" : "%.0f%%",
                        part < whole ? std::clamp(percent, 0.1, 99.9) : percent);
    return text.data();
}

std::string duration(Millis millis) {
    const Millis seconds = std::max<Millis>(0, millis / 1000);
    struct Unit {
        Millis seconds;
        Millis until;
        const char* name;
    };
    constexpr Unit units[] = {
        {1, 90, " s"}, {60, Millis{90} * 60, " min"}, {3600, Millis{36} * 3600, " h"}, {86'400, 0, " d"}};
    const Unit* unit = std::begin(units);
    while (unit->until != 0 && seconds >= unit->until) {
        ++unit;
    }
    return std::to_string(seconds / unit->seconds) + unit->name;
}

std::string utc(Millis time) {
    return written(time, "%Y-%m-%d %H:%M:%S UTC");
}

std::string iso_time(Millis time) {
    return written(time, "%Y-%m-%dT%H:%M:%SZ");
}

std::string counted(std::uint64_t number, std::string_view noun) {
    return grouped(number).append(" ").append(noun).append(number == 1 ? "" : "s");
}

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
        if (unit == std::end(units) || !add_units(number, unit->seconds, total)) {
            return std::nullopt;
        }
        next = unit + 1;
        at = std::find_if(at, end, [](char c) { return c != ' '; });
    }
    return total;
}

}  // namespace rate_limit
