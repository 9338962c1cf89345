#pragma once

#include "core/text/html_text.h"
#include "operator/figures/all_figures.h"

namespace rate_limit {

/// Draws the decisions of limits in the last hour, minute by minute: a drawing for each of the limits that
/// decided most. Throws std::bad_alloc.
void write_charts(HtmlText& html, const AllFigures& found);

}  // namespace rate_limit
