#pragma once

#include "core/text/html_text.h"
#include "operator/figures/all_figures.h"
#include "operator/figures/document.h"

namespace rate_limit {

/// The stores that limits use: their nodes, waiting charges, what became of what was written, and how long
/// requests waited. `found` outlives the pieces. Throws std::bad_alloc.
void add_stores(Pieces<HtmlText>& pieces, const AllFigures& found);

}  // namespace rate_limit
