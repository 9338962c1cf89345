#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rate_limit {

/// Foreign text as a log line may show it: at most `most` bytes of it, then "..."; quotes, backslashes and
/// whatever is not printable ASCII as \xHH, so that nobody can forge a line or an end of one.
std::string log_text(std::string_view text, std::size_t most);

}  // namespace rate_limit
