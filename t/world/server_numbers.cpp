#include "t/world/server_numbers.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace rate_limit::world {

bool read_integer(std::string_view text, std::int64_t& number) noexcept {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) {
        return false;
    }
    const std::string_view digits = text.substr(text[0] == '-' ? 1 : 0);
    return digits[0] != '0' || text.size() == 1;
}

bool is_word(std::string_view text, std::string_view lower) noexcept {
    return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char any, char small) {
        return (any >= 'A' && any <= 'Z' ? any + ('a' - 'A') : any) == small;
    });
}

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) {
        c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    return lower;
}

}  // namespace rate_limit::world
