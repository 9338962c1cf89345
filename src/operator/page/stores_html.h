#pragma once

#include "core/text/html_text.h"
#include "operator/figures/document.h"
#include "operator/figures/gathered.h"

namespace rate_limit {

/// The stores that limits use: their nodes, waiting charges, what became of what was written, and how long
/// requests waited. `found` outlives the pieces. Throws std::bad_alloc.
void add_stores(Pieces<HtmlText>& pieces, const Gathered& found);

}  // namespace rate_limit
