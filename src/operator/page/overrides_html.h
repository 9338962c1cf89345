#pragma once

#include "core/text/html_text.h"
#include "operator/page/gathered.h"
#include "operator/rights.h"

namespace rate_limit {

/// The overrides that hold. Throws std::bad_alloc.
void write_overrides(HtmlText& html, const Gathered& found, const OperatorRights& rights);

}  // namespace rate_limit
