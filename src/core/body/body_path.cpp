#include "core/body/body_path.h"

#include <algorithm>

namespace rate_limit {

/// A number as JSON writes it, without zeros before it: any other has no element.
std::uint64_t BodyPath::element_of(std::string_view name) noexcept {
    constexpr std::size_t most_digits = 18;
    const bool digits =
        std::all_of(name.begin(), name.end(), [](char c) noexcept { return c >= '0' && c <= '9'; });
    if (!digits || name.size() > most_digits || (name.size() > 1 && name.front() == '0')) {
        return no_element;
    }
    std::uint64_t number = 0;
    for (const char c : name) {
        number = number * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return number;
}

const char* BodyPath::parse(std::string_view text) noexcept {
    text_ = text;
    size_ = 0;
    for (bool more = true; more;) {
        const std::size_t dot = text.find('.');
        const std::string_view name = text.substr(0, dot);
        more = dot != std::string_view::npos;
        if (name.empty()) {
            return "one of its names is empty: write names joined by single dots, such as usage.total_tokens";
        }
        if (size_ == 0 && name == "$" && more) {
            return "it begins at the root of the document by itself: leave \"$.\" away";
        }
        if (name.size() > most_name) {
            return "a name has 64 bytes at most: write \"*\" for one that is longer";
        }
        if (size_ == most_names) {
            return "it has 16 names at most: name a value that lies less deep";
        }
        steps_[size_++] = {name, element_of(name), name == "*"};
        text.remove_prefix(more ? dot + 1 : name.size());
    }
    return nullptr;
}

}  // namespace rate_limit
