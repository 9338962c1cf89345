#pragma once

#include "core/text/html_text.h"
#include "operator/figures/all_figures.h"
#include "operator/figures/document.h"
#include "operator/html/frame.h"

namespace rate_limit {

// The page's tables. All throw std::bad_alloc.

/// How requests ended since the zone was made.
void write_requests(HtmlText& html, const AllFigures& found);

/// Each limit's decisions, in the last minutes and since then. `found` outlives the pieces.
void add_limits(Pieces<HtmlText>& pieces, const AllFigures& found);

/// The running requests of limits that count them; nothing where there is no such limit.
void write_all_running(HtmlText& html, const AllFigures& found);

/// The keys that are rejected most often; under PageView::may_act with what can be done about each.
void write_top(HtmlText& html, const AllFigures& found, const PageView& view);

/// The overrides that hold; so, too.
void write_overrides(HtmlText& html, const AllFigures& found, const PageView& view);

/// The stores that limits use: their nodes, waiting charges, what became of what was written, and how long
/// requests waited. `found` outlives the pieces.
void add_stores(Pieces<HtmlText>& pieces, const AllFigures& found);

/// How full the shared memory is.
void write_memory(HtmlText& html, const AllFigures& found);

}  // namespace rate_limit
