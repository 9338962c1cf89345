#pragma once

#include <cstdint>
#include <string_view>

namespace rate_limit {

constexpr std::int64_t max_cost = 1'000'000'000;

/// Parses a cost: decimal digits, 0 to max_cost; empty means 1.
/// Returns false and sets `cost` to 1 for anything else: an unreadable cost must not be a free request.
bool parse_cost(std::string_view text, std::int64_t& cost) noexcept;

}  // namespace rate_limit
