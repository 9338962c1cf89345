#pragma once

#include "core/text/html_text.h"
#include "ngx/page/gathered.h"

namespace rate_limit {

/// What limits decided in the last hour, minute by minute: a drawing for each of those that decided most.
/// Throws std::bad_alloc.
void write_charts(HtmlText& html, const Gathered& found);

}  // namespace rate_limit
