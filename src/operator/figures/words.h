#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/limit/rate.h"
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

/// The period of a rate: seconds, or the word of a calendar's. Throws std::bad_alloc.
inline std::string period_text(const Rate& of) {
    return of.calendar != Calendar::none ? std::string(to_string(of.calendar)) : std::to_string(of.period);
}

/// The period of a rate with its unit. Throws std::bad_alloc.
inline std::string period_and_unit(const Rate& of) {
    return period_text(of) + (of.calendar != Calendar::none ? "" : " s");
}

/// Writes the period of a rate as JSON: a number, or a text. Throws std::bad_alloc.
inline void write_period(JsonText& json, const Rate& of) {
    if (of.calendar != Calendar::none) {
        json.text(to_string(of.calendar));
    } else {
        json.number(of.period);
    }
}

}  // namespace rate_limit
