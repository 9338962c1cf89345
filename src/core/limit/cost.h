#pragma once

#include <cstdint>
#include <string_view>

namespace rate_limit {

constexpr std::int64_t max_cost = 1'000'000'000;

/// Parses a cost: decimal digits, 0 to max_cost; an empty text means 1. For any other text it returns false
/// and sets `cost` to 1, so that a request whose cost cannot be read is not free.
bool parse_cost(std::string_view text, std::int64_t& cost) noexcept;

}  // namespace rate_limit
