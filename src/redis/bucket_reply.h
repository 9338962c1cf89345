#pragma once

#include <cstdint>

#include "core/limit/window.h"
#include "redis/command.h"
#include "redis/decode.h"
#include "redis/reply.h"

namespace rate_limit {

/// Decodes the reply to lua/bucket.lua, which counts from the time of its own clock: `now` is this machine's.
/// `bucket.used` is the instant when the bucket is full again, in nanoseconds of this machine's clock, and
/// `reset` the same in milliseconds, rounded up. Malformed unless the script can give this answer. On any
/// fault `taken` is 0.
Fault read_draw(const Reply& reply, const Draw& draw, Millis now, std::int64_t& taken,
                Window& bucket) noexcept;

/// Decodes the reply to a bucket's PTTL in the same way, to the millisecond; {0, 0}: it is full.
Fault read_life(const Reply& reply, Millis now, Window& bucket) noexcept;

}  // namespace rate_limit
