#pragma once

#include <optional>
#include <string>

#include "ngx/base/ngx.h"

namespace rate_limit {

/// A longer form is refused.
constexpr off_t most_posted = 8192;

/// Whether the request says that its body is longer.
bool announces_too_much(const ngx_http_request_t& r) noexcept;

/// The body that nginx has read, wherever it keeps it; empty: it is longer than most_posted, or cannot be
/// read. Throws std::bad_alloc.
std::optional<std::string> posted_body(const ngx_http_request_t& r);

}  // namespace rate_limit
