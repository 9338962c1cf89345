#pragma once

#include "operator/page/gathered.h"
#include "operator/page/pieces.h"

namespace rate_limit {

/// The stores that limits use: their nodes, waiting charges, what became of what was written, and how long
/// requests waited. `found` outlives the pieces. Throws std::bad_alloc.
void add_stores(Pieces& pieces, const Gathered& found);

}  // namespace rate_limit
