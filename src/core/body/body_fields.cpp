#include "core/body/body_fields.h"

#include <algorithm>

namespace rate_limit {

namespace {

bool is_control(char c) noexcept {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

bool BodyFields::add(const BodyPath& path) {
    const std::size_t number = paths_.size();
    if (number == most_paths) {
        return false;
    }
    paths_.push_back({path, fields_ - 1});
    const Set bit = Set{1} << number;
    all_ |= bit;
    ending_[path.size()] |= bit;
    return true;
}

BodyFields::Set BodyFields::with_byte(Set of, std::size_t at, char byte) const noexcept {
    Set found = 0;
    for (Set rest = of; rest != 0; rest &= rest - 1) {
        const auto number = static_cast<unsigned>(__builtin_ctzll(rest));
        const std::string_view text = paths_[number].path.text();
        found |= static_cast<Set>(at < text.size() && text[at] == byte) << number;
    }
    return found;
}

BodyFields::Set BodyFields::of_length(Set of, std::size_t length) const noexcept {
    Set found = 0;
    for (Set rest = of; rest != 0; rest &= rest - 1) {
        const auto number = static_cast<unsigned>(__builtin_ctzll(rest));
        found |= static_cast<Set>(paths_[number].path.text().size() == length) << number;
    }
    return found;
}

/// A text with control characters says nothing: a line's end would begin another field where a header holds
/// the variable.
void BodyFields::put(Set found, std::string_view text, BodyValue* values) const noexcept {
    if (std::any_of(text.begin(), text.end(), is_control)) {
        return;
    }
    for (Set rest = found; rest != 0; rest &= rest - 1) {
        const auto number = static_cast<unsigned>(__builtin_ctzll(rest));
        values[paths_[number].field].put(number, text);
    }
}

}  // namespace rate_limit
