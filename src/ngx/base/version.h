#pragma once

#include <string_view>

namespace rate_limit {

/// The module's version, from the file VERSION.
inline constexpr std::string_view module_version =
#include "version.inc"
    ;

}  // namespace rate_limit
