#pragma once

#include <cstdint>

#include "core/limit/window.h"
#include "redis/command.h"
#include "redis/decode.h"
#include "redis/reply.h"

namespace rate_limit {

/// Decodes the reply to lua/bucket.lua, which counts from the time of its own clock: `now` is this machine's.
/// `told` is the instant at which that one answered. `bucket.used` is the instant when the bucket is full
/// again, in nanoseconds of this machine's clock, and `reset` the same in milliseconds, rounded up. Malformed
/// unless the script can give this answer. On any fault `taken` is 0.
Fault read_draw(const Reply& reply, const Draw& draw, Millis now, std::int64_t& taken, Window& bucket,
                Nanos& told) noexcept;
Fault read_draw(const Reply& reply, const Draw& draw, Millis now, std::int64_t& taken,
                Window& bucket) noexcept;

/// What the plain command CommandWriter::take() was asked for.
struct Taking {
    Nanos now = 0;   ///< the server's
    Nanos cost = 0;  ///< in nanoseconds
};

/// Decodes the reply to it. `missing`: how long the bucket takes to be full afterwards. `stored`: there was
/// one of lua/bucket.lua; else the key was gone, or had something else, and that script takes what is there
/// now for a full bucket.
Fault read_taking(const Reply& reply, const Taking& taking, Nanos& missing, bool& stored) noexcept;

/// When that is on this machine's clock, as read_draw() has it.
Window full_after(Nanos missing, Millis now) noexcept;

}  // namespace rate_limit
