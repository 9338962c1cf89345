#pragma once

#include "core/text/html_text.h"
#include "operator/page/gathered.h"

namespace rate_limit {

/// How full the shared memory is. Throws std::bad_alloc.
void write_memory(HtmlText& html, const Gathered& found);

}  // namespace rate_limit
