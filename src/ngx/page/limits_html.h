#pragma once

#include "core/text/html_text.h"
#include "ngx/page/gathered.h"
#include "ngx/page/pieces.h"

namespace rate_limit {

// What was decided since the zone was made. All throw std::bad_alloc.

/// About requests.
void write_requests(HtmlText& html, const Gathered& found);

/// By each limit. `found` outlives the pieces.
void add_limits(Pieces& pieces, const Gathered& found);

/// What runs now of limits that count that; nothing where there is none of them.
void write_all_running(HtmlText& html, const Gathered& found);

}  // namespace rate_limit
