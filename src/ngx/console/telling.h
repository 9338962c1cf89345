#pragma once

#include <memory>
#include <string_view>

#include "ngx/base/ngx.h"
#include "operator/figures/document.h"

namespace rate_limit {

/// Writes the document and sends it as the response, in as many turns of the event loop as it takes. `type`
/// is static. Returns what a content handler returns: NGX_DONE while it is being written. nginx takes one off
/// the request's count when a content handler returns that; the caller adds it.
ngx_int_t tell(ngx_http_request_t* r, std::string_view type, std::unique_ptr<Document> document) noexcept;

}  // namespace rate_limit
