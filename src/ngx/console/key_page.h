#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

/// The page `key` of a console that may act: GET answers the form, POST looks up a key or acts on it. Nothing
/// of the request's body has been read. Returns what a content handler returns. Throws std::bad_alloc.
ngx_int_t answer_key(ngx_http_request_t* r, const char* forbidden);

/// Goes on with what was posted, when nginx calls the content handler again; NGX_DECLINED: nothing was.
ngx_int_t go_on_with_key(ngx_http_request_t* r);

}  // namespace rate_limit
