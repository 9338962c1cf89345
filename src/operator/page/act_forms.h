#pragma once

#include <string_view>

#include "core/text/html_text.h"
#include "operator/acts/act_result.h"
#include "operator/html/page_view.h"

namespace rate_limit {

/// A form for each act that there is on one limit, of those on windows where there are any; `key`, as it is
/// typed, is empty where none was looked up. Throws std::bad_alloc.
void write_act_forms(HtmlText& html, const PageView& view, const SeenLimit& limit, std::string_view key);

}  // namespace rate_limit
