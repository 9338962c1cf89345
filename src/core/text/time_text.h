#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rate_limit {

/// Seconds of a time as nginx's directives take it, such as `90`, `10m` or `1h 30m`: units from years to
/// seconds, the greater before the smaller, and spaces after each. Nothing: it is no such time, or above what
/// the number holds.
std::optional<std::int64_t> parse_seconds(std::string_view text) noexcept;

}  // namespace rate_limit
