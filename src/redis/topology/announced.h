#pragma once

#include <cstdint>
#include <string_view>

#include "core/topology/topology.h"

namespace rate_limit {

/// A server's word of where another one listens.
enum class Announced : unsigned char {
    known,
    unknown,  ///< it does not know the other's host (`?`, `0.0.0.0`, `::`), or the port (0), or means a host
              ///< that the worker that asked does not know either
    wrong,    ///< no host and port, or they do not make sense
};

/// Reads host and port as the server `asked` announces them; where the host is empty, it is that of `asked`,
/// which has none if it was asked on a unix socket.
/// `to` is set if they are known, and else left as it was. IPv6 addresses come without brackets.
Announced read_announced(std::string_view host, std::int64_t port, const Endpoint& asked, Endpoint& to);

}  // namespace rate_limit
