#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

ngx_int_t access_handler(ngx_http_request_t* r) noexcept;
ngx_int_t precontent_handler(ngx_http_request_t* r) noexcept;
ngx_int_t log_handler(ngx_http_request_t* r) noexcept;

/// The content handler of a location with rate_limit_report.
ngx_int_t report_handler(ngx_http_request_t* r) noexcept;

/// The header filter.
ngx_int_t header_filter(ngx_http_request_t* r) noexcept;

/// `next` is the filter that was on top before header_filter.
void set_next_header_filter(ngx_http_output_header_filter_pt next) noexcept;

ngx_int_t add_variables(ngx_conf_t* cf) noexcept;

}  // namespace rate_limit
