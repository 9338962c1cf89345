#pragma once

#include <cstdint>

#include "core/limit/bucket.h"
#include "core/limit/window.h"
#include "redis/command.h"
#include "redis/decode.h"
#include "redis/reply.h"

namespace rate_limit {

/// An answer of lua/bucket.lua.
struct Drawn {
    std::int64_t taken = 0;
    Window bucket;               ///< made by full_after()
    Nanos told = 0;              ///< the instant at which the server's clock answered
    std::uint64_t returned = 0;  ///< all that has ever been given back
    BucketReceipt receipt;       ///< for what was taken
};

/// Decodes the reply to lua/bucket.lua, which counts from the time of its own clock: `now` is this machine's.
/// Malformed unless the script can give this answer. On any fault `drawn` is as it is made.
Fault read_draw(const Reply& reply, const Draw& draw, Millis now, Drawn& drawn) noexcept;

/// The terms of a plain command, CommandWriter::take() or take_of_filling().
struct Taking {
    Nanos earliest = 0;    ///< the server's time is between these: a bucket counts as full since the latest,
    Nanos latest = 0;      ///< and its tokens as refilled by the earliest
    Nanos cost = 0;        ///< in nanoseconds
    bool filling = false;  ///< the bucket was taken for one that is not full

    /// Whether the bucket had the cost, which `fill` takes to refill, so that now so much is `missing`. One
    /// that was full, though it was taken for one that is not, has not lost all of the cost.
    constexpr bool fits(Nanos missing, Nanos fill) const noexcept {
        return missing >= cost && missing + latest - earliest <= fill;
    }
};

/// The receipt for what the plain command took, where `missing` is left to refill; `returned` has been given
/// back, or less.
constexpr BucketReceipt receipt_of(const Taking& taking, Nanos missing, std::uint64_t returned) noexcept {
    return {static_cast<std::uint64_t>(taking.latest + missing) + returned, taking.earliest};
}

/// Decodes the reply to it. `missing`: how long the bucket takes to be full after `latest`, which may be
/// less than nothing where it was taken for one that is not full. `stored`: there
/// was one of lua/bucket.lua; else the key was gone, or had something else, and that script takes what is
/// there now for a full bucket.
Fault read_taking(const Reply& reply, const Taking& taking, Nanos& missing, bool& stored) noexcept;

/// When that is on this machine's clock: `used` is the instant when the bucket is full again, in nanoseconds,
/// and `reset` the same in milliseconds, rounded up.
Window full_after(Nanos missing, Millis now) noexcept;

}  // namespace rate_limit
