#pragma once

#include <string>
#include <string_view>

namespace rate_limit {

/// The text as people read it: UTF-8 as it is; bytes that are no UTF-8, controls and `%` as %XX. Different
/// texts stay different. Throws std::bad_alloc.
std::string readable(std::string_view text);

}  // namespace rate_limit
