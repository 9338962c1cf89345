#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

// Parts of a response that the module itself makes.

/// Adds a header field. Both texts stay valid until the header is sent. NGX_ERROR without memory.
ngx_int_t add_field(ngx_http_request_t* r, std::string_view name, std::string_view value) noexcept;

/// Sends the whole response, after the fields that are there. `type` is static, `body` is copied. Returns
/// what a content handler returns.
ngx_int_t send_whole(ngx_http_request_t* r, ngx_uint_t status, std::string_view type,
                     std::string_view body) noexcept;

}  // namespace rate_limit
