#pragma once

#include <string>
#include <string_view>

#include "bench/simulate/server/call.h"

namespace rate_limit::simulated {

/// The scripts forget old numbers of calls in windows that have more fields.
constexpr std::size_t many_fields = 256;

/// Of a call that was granted something, or of one that gave something back.
inline bool is_number_of_call(std::string_view field) noexcept {
    return field.size() >= 2 && (field[0] == 'g' || field[0] == 'r') && field[1] == ':';
}

/// Where the window has the numbers of many workers, takes away those before `oldest`.
void forget_old(Call& call, double oldest);

}  // namespace rate_limit::simulated
