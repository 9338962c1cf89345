#pragma once

#include <string>
#include <string_view>

namespace rate_limit {

/// Lowers ASCII letters alone. Throws std::bad_alloc.
inline std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    }
    return lower;
}

}  // namespace rate_limit
