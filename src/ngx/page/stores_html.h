#pragma once

#include "core/text/html_text.h"
#include "ngx/page/gathered.h"

namespace rate_limit {

/// The stores that limits use: their nodes, waiting charges, what became of what was written, and how long
/// requests waited. Throws std::bad_alloc.
void write_stores(HtmlText& html, const Gathered& found);

}  // namespace rate_limit
