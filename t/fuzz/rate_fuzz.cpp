// parse_rate and parse_cost read what their grammar allows, and refuse all else: compared with a second,
// simpler reader in this file.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/limit/rate.h"
#include "require.h"

namespace rate_limit {
namespace {

constexpr std::int64_t huge =
    10'000'000'000'000;  // beyond every range; as a number of days, its seconds still fit 64 bits

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Takes the digits from the front, as a number of at most `huge`; -1 if there are none.
std::int64_t take_digits(std::string_view& text) {
    std::int64_t number = -1;
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
        number = (number < 0 ? 0 : number) * 10 + (text.front() - '0');
        number = number < huge ? number : huge;
    }
    return number;
}

/// Reads a rate's limit and period, however large; false for text that is no rate.
bool read_rate(std::string_view text, Rate& rate) {
    constexpr std::string_view units = "smhd";
    constexpr std::int64_t seconds[] = {1, 60, 3600, 86400};
    rate.limit = take_digits(text);
    if (rate.limit < 0 || text.substr(0, 2) != "r/") {
        return false;
    }
    text.remove_prefix(2);
    if (text == "month" || text == "week") {
        rate.calendar = text == "month" ? Calendar::month : Calendar::week;
        rate.period = longest(rate.calendar);
        return true;
    }
    const std::int64_t count = take_digits(text);
    if (text.size() != 1 || units.find(text[0]) == std::string_view::npos) {
        return false;
    }
    rate.period = (count < 0 ? 1 : count) * seconds[units.find(text[0])];
    return true;
}

void check_rate(std::string_view text) {
    const Rate untouched{-1, -1};
    Rate rate = untouched;
    const RateError error = parse_rate(text, WindowKind::clock, rate);
    require(!std::string_view(describe(error)).empty());

    Rate expected;
    if (!read_rate(text, expected)) {
        require(error == RateError::syntax);
    } else if (expected.limit > max_limit) {
        require(error == RateError::limit_range);
    } else if (expected.period < 1 || expected.period > max_period) {
        require(error == RateError::period_range);
    } else {
        require(error == RateError::none);
        require(rate.limit == expected.limit && same_period(rate, expected));
        Rate again;
        const std::string period = rate.calendar != Calendar::none ? std::string(to_string(rate.calendar))
                                                                   : std::to_string(rate.period) + "s";
        require(parse_rate(std::to_string(rate.limit) + "r/" + period, WindowKind::clock, again) ==
                RateError::none);
        require(again.limit == rate.limit && same_period(again, rate));
        require((parse_rate(text, WindowKind::first, again) == RateError::calendar_without_clock) ==
                (rate.calendar != Calendar::none));
        return;
    }
    require(rate.limit == untouched.limit && rate.period == untouched.period);
}

void check_cost(std::string_view text) {
    std::int64_t cost = -1;
    const bool accepted = parse_cost(text, cost);
    std::string_view rest = text;
    const std::int64_t expected = text.empty() ? 1 : take_digits(rest);
    const bool valid = rest.empty() && expected >= 0 && expected <= max_cost;
    require(accepted == valid);
    require(cost == (valid ? expected : 1));
}

}  // namespace
}  // namespace rate_limit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    rate_limit::check_rate(text);
    rate_limit::check_cost(text);
    return 0;
}
