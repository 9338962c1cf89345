#pragma once

#include "ngx/base/value.h"

namespace rate_limit {

/// What the value would be if nothing had been evaluated for the request: a `map` keeps what it found when
/// its source was not there yet. What has been set, by `auth_request_set` or a script, counts as it is now.
/// nginx's variables stay as they were, and what their evaluation would log is not logged. NGX_ERROR without
/// memory.
ngx_int_t evaluate_anew(ngx_http_request_t* r, const Value& value, ngx_str_t& text) noexcept;

}  // namespace rate_limit
