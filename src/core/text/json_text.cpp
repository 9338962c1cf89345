#include "core/text/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "core/text/readable.h"

namespace rate_limit {

namespace {

/// Most texts are: letters, digits and signs that stand for themselves.
bool is_plain(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '%'; });
}

}  // namespace

void JsonText::begin_value() {
    if (!first_) {
        text_ += ',';
    }
    first_ = false;
}

JsonText& JsonText::add(std::string_view value) {
    begin_value();
    text_.append(value);
    return *this;
}

JsonText& JsonText::open(char bracket) {
    begin_value();
    text_ += bracket;
    first_ = true;
    return *this;
}

JsonText& JsonText::close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
}

JsonText& JsonText::begin_object() {
    return open('{');
}

JsonText& JsonText::end_object() {
    return close('}');
}

JsonText& JsonText::begin_array() {
    return open('[');
}

JsonText& JsonText::end_array() {
    return close(']');
}

JsonText& JsonText::name(std::string_view name) {
    text(name);
    text_ += ':';
    first_ = true;
    return *this;
}

JsonText& JsonText::text(std::string_view text) {
    begin_value();
    text_ += '"';
    if (is_plain(text)) {
        text_.append(text);
        text_ += '"';
        return *this;
    }
    append_readable(text);
    text_ += '"';
    return *this;
}

JsonText& JsonText::words(std::string_view words) {
    begin_value();
    text_ += '"';
    for (;;) {
        const std::size_t percent = words.find('%');
        append_readable(words.substr(0, percent));
        if (percent == std::string_view::npos) {
            break;
        }
        text_ += '%';
        words.remove_prefix(percent + 1);
    }
    text_ += '"';
    return *this;
}

void JsonText::append_readable(std::string_view text) {
    for (const char c : readable(text)) {
        if (c == '"' || c == '\\') {
            text_ += '\\';
        }
        text_ += c;
    }
}

JsonText& JsonText::number(std::int64_t number) {
    return add(std::to_string(number));
}

JsonText& JsonText::count(std::uint64_t number) {
    return add(std::to_string(number));
}

JsonText& JsonText::decimal(double number) {
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return add({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

JsonText& JsonText::boolean(bool value) {
    return add(value ? "true" : "false");
}

JsonText& JsonText::null() {
    return add("null");
}

JsonText& JsonText::time(Millis time) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%lld.%03d", static_cast<long long>(time / 1000),
                        static_cast<int>(time % 1000));
    return add(text.data());
}

}  // namespace rate_limit
