#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

/// Whether the address is one of loopback, or of a unix socket.
bool is_local(const sockaddr& address) noexcept;

/// Whether the text is such an IP address.
bool is_local(const ngx_str_t& text) noexcept;

}  // namespace rate_limit
