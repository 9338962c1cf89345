#pragma once

#include <string_view>

namespace rate_limit {

/// The value of `name` in the text of INFO; empty if it is not there.
std::string_view info_value(std::string_view info, std::string_view name) noexcept;

}  // namespace rate_limit
