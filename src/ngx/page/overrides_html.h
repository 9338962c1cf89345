#pragma once

#include "core/text/html_text.h"
#include "ngx/page/gathered.h"

namespace rate_limit {

/// The overrides that hold. Throws std::bad_alloc.
void write_overrides(HtmlText& html, const Gathered& found, const ConsoleConf& console);

}  // namespace rate_limit
