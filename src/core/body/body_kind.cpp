#include "core/body/body_kind.h"

#include <algorithm>

namespace rate_limit {

namespace {

char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

/// `known` is in lower case.
bool is(std::string_view text, std::string_view known) noexcept {
    return text.size() == known.size() &&
           std::equal(text.begin(), text.end(), known.begin(), [](char a, char b) { return lower(a) == b; });
}

}  // namespace

BodyKind body_kind(std::string_view content_type) noexcept {
    constexpr std::string_view spaces = " \t";
    constexpr std::string_view application = "application/";
    constexpr std::string_view json = "+json";
    std::string_view type = content_type.substr(0, content_type.find(';'));
    type.remove_prefix(std::min(type.find_first_not_of(spaces), type.size()));
    type = type.substr(0, type.find_last_not_of(spaces) + 1);
    if (is(type, "application/json")) {
        return BodyKind::json;
    }
    if (is(type, "text/event-stream")) {
        return BodyKind::events;
    }
    if (is(type, "application/x-ndjson")) {
        return BodyKind::lines;
    }
    if (is(type, "application/x-www-form-urlencoded")) {
        return BodyKind::form;
    }
    const bool other = type.size() > application.size() + json.size() &&
                       is(type.substr(0, application.size()), application) &&
                       is(type.substr(type.size() - json.size()), json);
    return other ? BodyKind::json : BodyKind::unknown;
}

}  // namespace rate_limit
