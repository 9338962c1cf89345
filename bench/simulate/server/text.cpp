#include "bench/simulate/server/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "core/append.h"

namespace rate_limit::simulated {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr double two_to_63 = 9223372036854775808.0;
constexpr double two_to_53 = 9007199254740992.0;

std::string digits_of(std::int64_t number) {
    std::array<char, max_number> digits{};
    const char* end = append(digits.data(), number);
    return {digits.data(), static_cast<std::size_t>(end - digits.data())};
}

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

std::size_t digits_at_start(std::string_view text) noexcept {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count])) {
        ++count;
    }
    return count;
}

}  // namespace

Text::Text(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool plain = error == std::errc{} && end == text.data() + text.size();
    const std::size_t sign = !text.empty() && text[0] == '-' ? 1 : 0;
    const bool shortest = text == "0" || (text.size() > sign && text[sign] != '0');
    if (plain && shortest) {
        content_ = number;
    } else {
        set_other(text);
    }
}

void Text::set_other(std::string_view text) {
    const auto length = static_cast<Length>(text.size());
    std::unique_ptr<char[]> room(new char[sizeof length + text.size() + 1]);
    std::memcpy(room.get(), &length, sizeof length);
    *append(room.get() + sizeof length, text) = '\0';
    content_ = std::move(room);
}

Text::Text(const Text& other) {
    *this = other;
}

Text::Text(Text&& other) noexcept : content_(std::move(other.content_)) {}

Text& Text::operator=(const Text& other) {
    if (this == &other) {
        return *this;
    }
    if (const std::int64_t* number = other.number()) {
        content_ = *number;
    } else if (other) {
        set_other(other.other());
    } else {
        content_ = std::monostate{};
    }
    return *this;
}

Text& Text::operator=(Text&& other) noexcept {
    content_ = std::move(other.content_);
    return *this;
}

std::string_view Text::other() const noexcept {
    const auto* room = std::get_if<std::unique_ptr<char[]>>(&content_);
    if (room == nullptr) {
        return {};
    }
    Length length = 0;
    std::memcpy(&length, room->get(), sizeof length);
    return {room->get() + sizeof length, length};
}

std::string Text::text() const {
    const std::int64_t* found = number();
    return found != nullptr ? digits_of(*found) : std::string(other());
}

bool Text::operator==(const Text& that) const noexcept {
    const std::int64_t* number = this->number();
    const std::int64_t* its_number = that.number();
    if (number != nullptr || its_number != nullptr) {
        return number != nullptr && its_number != nullptr && *number == *its_number;
    }
    return content_.index() == that.content_.index() && other() == that.other();
}

std::int64_t lua_integer(double number) noexcept {
    if (number >= -two_to_63 && number < two_to_63) {
        return static_cast<std::int64_t>(number);
    }
    return std::numeric_limits<std::int64_t>::min();
}

Text lua_digits(double number) {
    if (std::fabs(number) <= two_to_53 && std::floor(number) == number && !std::signbit(number)) {
        return Text(static_cast<std::int64_t>(number));
    }
    std::array<char, 400> digits{};
    const int length = std::snprintf(digits.data(), digits.size(), "%.0f", number);
    return Text(std::string_view(digits.data(), static_cast<std::size_t>(length)));
}

double leading_digits(const Text& text) {
    if (const std::int64_t* number = text.number()) {
        return *number >= 0 ? static_cast<double>(*number) : nothing;
    }
    const std::string_view other = text.other();
    const std::size_t count = digits_at_start(other);
    return count > 0 ? number_of(other.substr(0, count)) : nothing;
}

double all_digits(const Text& text) {
    const std::string_view other = text.other();
    return digits_at_start(other) != other.size() ? nothing : leading_digits(text);
}

bool read_triple(const Text& text, Triple& triple) noexcept {
    std::string_view left = text.other();
    std::array<std::string_view, 3> words;
    for (std::string_view& word : words) {
        const bool first = &word == words.data();
        if (!first && (left.empty() || left[0] != ' ')) {
            return false;
        }
        left.remove_prefix(first ? 0 : 1);
        word = left.substr(0, digits_at_start(left));
        if (word.empty()) {
            return false;
        }
        left.remove_prefix(word.size());
    }
    triple = {words[0], words[1], words[2]};
    return left.empty();
}

Text triple(std::int64_t first, std::int64_t second, std::int64_t third) {
    std::array<char, 3 * max_number + 2> text{};
    char* end = append(append(text.data(), first), " ");
    end = append(append(append(end, second), " "), third);
    return Text(std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

double number_of(std::string_view digits) {
    if (digits.size() < 16) {
        std::int64_t number = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
        return static_cast<double>(number);
    }
    return std::strtod(std::string(digits).c_str(), nullptr);
}

std::int64_t whole(const Text& text) noexcept {
    constexpr std::int64_t sixteen_digits = 1'000'000'000'000'000;
    const std::int64_t* number = text.number();
    return number != nullptr && *number >= 0 && *number < sixteen_digits ? *number : -1;
}

}  // namespace rate_limit::simulated
