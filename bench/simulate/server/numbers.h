#pragma once

#include <string>
#include <string_view>

#include "bench/simulate/server/call.h"

namespace rate_limit::simulated {

/// The scripts forget old numbers of calls in windows that have more fields, with each 32nd that comes.
constexpr std::size_t many_fields = 256;
constexpr std::size_t forgotten_each = 32;

/// Microseconds. A number of a call that is older is forgotten, and one so far ahead is none.
constexpr double longest_remembered = 600'000'000;

/// Whether the field is the number of a call that was granted something, or that gave something back.
inline bool is_number_of_call(std::string_view field) noexcept {
    return field.size() >= 2 && (field[0] == 'g' || field[0] == 'r') && field[1] == ':';
}

/// Takes away numbers before `oldest` where the window has those of many workers.
void forget_old(Call& call, double oldest);

}  // namespace rate_limit::simulated
