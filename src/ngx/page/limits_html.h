#pragma once

#include "core/text/html_text.h"
#include "ngx/page/gathered.h"

namespace rate_limit {

// What was decided since the zone was made. Both throw std::bad_alloc.

/// About requests.
void write_requests(HtmlText& html, const Gathered& found);

/// By each limit.
void write_limits(HtmlText& html, const Gathered& found);

}  // namespace rate_limit
