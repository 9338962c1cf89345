#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/limit/window.h"
#include "core/text/json_text.h"

namespace rate_limit {

/// The configuration's word for a kind of windows; a token bucket is one, and slots are.
constexpr std::string_view name_of(WindowKind kind) noexcept {
    return kind == WindowKind::first    ? "first"
           : kind == WindowKind::bucket ? "bucket"
           : kind == WindowKind::slots  ? "slots"
                                        : "clock";
}

/// A period as operators write and read it: seconds, or `month`.
inline std::string period_text(std::int64_t seconds, bool month) {
    return month ? "month" : std::to_string(seconds);
}

/// Writes the field `period` of JSON: a number, or the text `month`.
inline void write_period(JsonText& json, std::int64_t seconds, bool month) {
    json.name("period");
    if (month) {
        json.text("month");
    } else {
        json.number(seconds);
    }
}

}  // namespace rate_limit
