#pragma once

#include <cstdint>
#include <string_view>

#include "core/topology/topology.h"

namespace rate_limit {

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
