#pragma once

#include "core/body/body_kind.h"
#include "ngx/request/context.h"

namespace rate_limit {

// Bodies of responses, which say costs: rate_limit_response_field.

/// The kind of the body that the request's response is about to have; unknown where nothing of it is wanted,
/// or can be read. Called before the header passes the filters.
BodyKind wanted_response(RequestContext& context) noexcept;

/// Reads the body that follows, in place of one before. Called when the header has passed the filters.
void read_response(RequestContext& context, BodyKind kind) noexcept;

/// Lets the bodies of responses pass through here, if a configuration reads any. The filter that is on top by
/// then comes next: nginx compresses, and changes texts, behind this one.
void add_response_filter(const MainConf& main) noexcept;

/// The variable of a field: empty until the field has been read.
ngx_int_t response_field_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                                  uintptr_t field) noexcept;

}  // namespace rate_limit
