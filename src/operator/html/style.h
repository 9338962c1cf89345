#pragma once

#include <string_view>

namespace rate_limit {

/// The style of all pages, as it stands in them.
extern const std::string_view style_sheet;

/// The value of Content-Security-Policy for pages: no scripts, this style alone, and nothing from elsewhere.
/// Valid while the process lives. Throws std::bad_alloc.
std::string_view content_security_policy();

}  // namespace rate_limit
