#pragma once

#include <functional>
#include <vector>

#include "core/text/html_text.h"

namespace rate_limit {

/// A page that is yet to be written, one piece after the other; each takes far less than a millisecond, and
/// throws std::bad_alloc.
using Pieces = std::vector<std::function<void(HtmlText& html)>>;

}  // namespace rate_limit
