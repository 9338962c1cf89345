#pragma once

#include <cstdint>

#include "redis/command.h"
#include "redis/decode.h"
#include "redis/reply.h"

namespace rate_limit {

/// An answer of lua/hold.lua: slots of this machine and of others, and the number that stands.
struct Held {
    std::int64_t mine = 0;
    std::int64_t others = 0;
    std::int64_t number = 0;
};

/// Decodes the reply to lua/hold.lua. Malformed unless the script can give this answer to this call.
Fault read_held(const Reply& reply, const Hold& call, Held& held) noexcept;

}  // namespace rate_limit
