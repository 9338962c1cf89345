#pragma once

#include <string_view>

namespace rate_limit {

/// Of the module, as in the file VERSION.
inline constexpr std::string_view module_version =
#include "version.inc"
    ;

}  // namespace rate_limit
