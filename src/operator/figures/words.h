#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/text/json_text.h"

namespace rate_limit {

// Words that operators read in all documents, and write.

/// The id of a client: 16 hex digits. Throws std::bad_alloc.
inline std::string id_text(std::uint64_t id) {
    std::string text(2 * sizeof(id), '0');
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit) {
        *digit = "0123456789abcdef"[id & 15U];
        id >>= 4U;
    }
    return text;
}

/// A period: seconds, or `month`. Throws std::bad_alloc.
inline std::string period_text(std::int64_t seconds, bool month) {
    return month ? "month" : std::to_string(seconds);
}

/// Writes a period as JSON: a number, or the text `month`. Throws std::bad_alloc.
inline void write_period(JsonText& json, std::int64_t seconds, bool month) {
    if (month) {
        json.text("month");
    } else {
        json.number(seconds);
    }
}

}  // namespace rate_limit
