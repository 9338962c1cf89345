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

/// A cluster's node says that another one serves the slot: from now on (MOVED), or for this command (ASK).
struct Redirect {
    enum class Kind : unsigned char { moved, ask };
    Kind kind = Kind::moved;
    std::uint16_t slot = 0;  ///< below slot_count
    Endpoint to;             ///< port above 0
};

/// Reads the text of an error that the node `asked` has answered: `MOVED 8898 127.0.0.1:6379`. An empty host
/// is that of `asked`. False for all else, also where the node does not know the other's host name (`?`):
/// `redirect` means nothing then.
bool read_redirect(std::string_view error, const Endpoint& asked, Redirect& redirect);

}  // namespace rate_limit
