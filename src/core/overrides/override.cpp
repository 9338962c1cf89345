#include "core/overrides/override.h"

#include <algorithm>

#include "core/decimal.h"

namespace rate_limit {

namespace {

/// The form of values, which each begins with.
constexpr std::string_view form = "1";

/// Takes the next word of `text`, up to a space.
std::string_view take_word(std::string_view& text) noexcept {
    const std::size_t size = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    return word;
}

}  // namespace

std::string_view to_string(OverrideKind kind) noexcept {
    constexpr std::string_view texts[] = {"", "ban", "allow", "enforce", "off"};
    return texts[static_cast<std::size_t>(kind)];
}

OverrideKind override_kind(std::string_view name) noexcept {
    const auto* found = std::find_if(override_kinds.begin(), override_kinds.end(),
                                     [name](OverrideKind kind) { return to_string(kind) == name; });
    return found != override_kinds.end() ? *found : OverrideKind::none;
}

std::string_view to_string(OverrideScope scope) noexcept {
    return scope == OverrideScope::shared ? "shared" : "machine";
}

std::string write_field(const SharedSubject& subject) {
    std::string field(subject.limit);
    field += '/';
    if (!subject.key.empty()) {
        field += subject.digested ? '#' : ':';
        field += subject.key;
    }
    return field;
}

std::string write_value(const Override& what) {
    std::string value(form);
    value += ' ';
    value += to_string(what.kind);
    for (const std::int64_t number : {std::int64_t{what.percent}, what.from, what.until}) {
        value += ' ';
        value += std::to_string(number);
    }
    value.append(" ").append(what.by);
    return what.reason.empty() ? value : value.append(" ").append(what.reason);
}

SharedError read_shared(std::string_view field, std::string_view value, SharedSubject& subject,
                        Override& what) {
    const std::string_view form_there = take_word(value);
    if (form_there != form) {
        std::int64_t number = 0;
        return parse_digits(form_there, number) ? SharedError::other_version : SharedError::garbage;
    }
    const std::size_t end = field.find('/');
    subject.limit = field.substr(0, end);
    const std::string_view key = end != std::string_view::npos ? field.substr(end + 1) : "";
    subject.digested = !key.empty() && key.front() == '#';
    subject.key = key.empty() ? key : key.substr(1);
    std::int64_t percent = 0;
    what.kind = override_kind(take_word(value));
    const bool numbers = parse_digits(take_word(value), percent) && percent <= 100 &&
                         parse_digits(take_word(value), what.from) &&
                         parse_digits(take_word(value), what.until);
    const bool keyed = key.size() > 1 && (subject.digested || key.front() == ':');
    if (end == std::string_view::npos || end == 0 || what.kind == OverrideKind::none || !numbers ||
        keyed != is_of_key(what.kind) || keyed == key.empty()) {
        return SharedError::garbage;
    }
    what.percent = static_cast<std::uint8_t>(percent);
    what.scope = OverrideScope::shared;
    what.by = take_word(value);
    what.reason = value;
    what.text = subject.key;
    what.digested = subject.digested;
    return SharedError::none;
}

const char* describe(SharedError error) noexcept {
    switch (error) {
        case SharedError::none:
            return "sound";
        case SharedError::too_large:
            return "above 512 KB";
        case SharedError::other_version:
            return "of another version of this module";
        default:
            return "not what this module writes";
    }
}

}  // namespace rate_limit
