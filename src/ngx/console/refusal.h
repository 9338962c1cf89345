#pragma once

#include <string_view>

#include "ngx/base/ngx.h"
#include "operator/acts/act_result.h"

namespace rate_limit {

/// Whether the client is to have HTML where there are two forms of an answer: browsers ask for it.
bool wants_html(const ngx_http_request_t& r) noexcept;

/// Sends an error of the console, as JSON or as HTML. Without a static `allow` there is no field Allow.
/// Returns what a content handler returns. Throws std::bad_alloc.
ngx_int_t send_error(ngx_http_request_t* r, ActError error, std::string_view description,
                     std::string_view allow = {});

}  // namespace rate_limit
