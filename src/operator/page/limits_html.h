#pragma once

#include "core/text/html_text.h"
#include "operator/page/gathered.h"
#include "operator/page/pieces.h"

namespace rate_limit {

// Decisions since the zone was made. All throw std::bad_alloc.

/// About requests.
void write_requests(HtmlText& html, const Gathered& found);

/// By each limit. `found` outlives the pieces.
void add_limits(Pieces& pieces, const Gathered& found);

/// Writes the running requests of limits that count them; nothing where there is no such limit.
void write_all_running(HtmlText& html, const Gathered& found);

}  // namespace rate_limit
