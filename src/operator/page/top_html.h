#pragma once

#include "core/text/html_text.h"
#include "operator/page/gathered.h"
#include "operator/rights.h"

namespace rate_limit {

/// The keys that are rejected most often. Throws std::bad_alloc.
void write_top(HtmlText& html, const Gathered& found, const OperatorRights& rights);

}  // namespace rate_limit
