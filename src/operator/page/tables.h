#pragma once

#include "core/text/html_text.h"
#include "operator/figures/document.h"
#include "operator/figures/gathered.h"

namespace rate_limit {

// The page's tables but for those of stores. All throw std::bad_alloc.

/// How requests ended since the zone was made.
void write_requests(HtmlText& html, const Gathered& found);

/// What each limit decided since then. `found` outlives the pieces.
void add_limits(Pieces<HtmlText>& pieces, const Gathered& found);

/// The running requests of limits that count them; nothing where there is no such limit.
void write_all_running(HtmlText& html, const Gathered& found);

/// The keys that are rejected most often.
void write_top(HtmlText& html, const Gathered& found);

/// The overrides that hold.
void write_overrides(HtmlText& html, const Gathered& found);

/// How full the shared memory is.
void write_memory(HtmlText& html, const Gathered& found);

}  // namespace rate_limit
