#pragma once

#include "ngx/conf/body_field.h"

namespace rate_limit {

// Bodies of requests, as rate_limit_request_field reads them.

/// Reads the request's body for the fields of its location, unless that has been done. NGX_OK: it has been;
/// NGX_DONE: the body is still to come, and the phases run again when it is there. Else the status that the
/// request ends with, as for a body that is too large.
ngx_int_t read_request(ngx_http_request_t* r, const FieldSet& set) noexcept;

/// Lets the bodies of requests pass through here as they come, if a configuration reads any.
void add_request_filter(const MainConf& main) noexcept;

/// The variable of a field: its default, where no body has said a value. Never empty.
ngx_int_t request_field_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                                 uintptr_t field) noexcept;

}  // namespace rate_limit
