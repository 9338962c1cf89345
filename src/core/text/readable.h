#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rate_limit {

/// The text as people read it: UTF-8 as it is; bytes that are no UTF-8, controls and `%` as %XX. Different
/// texts stay different. Throws std::bad_alloc.
std::string readable(std::string_view text);

/// Text from outside as a log line may show it: at most `most` bytes of it, followed by "..." if it was
/// longer. Quotes, backslashes and all that is not printable ASCII are shown as \xHH, so that nobody can
/// forge a log line or the end of a quoted text.
std::string log_text(std::string_view text, std::size_t most);

}  // namespace rate_limit
