#pragma once

#include <cstdint>

#include "core/limit/bucket.h"
#include "core/limit/window.h"
#include "redis/command.h"
#include "redis/decode.h"
#include "redis/reply.h"

namespace rate_limit {

static_assert(words_of_bucket < Reply::max_elements, "with one more, a reply holds the longest of them");

/// Whether a script says that what it has stored has taken the place of another type: by one element more, 1,
/// in a reply that is sound. `words`: how many it has else.
bool replaced_another_type(const Reply& reply, std::size_t words) noexcept;

/// Whether a script says that it has stored what it was asked for, though it may not let that expire: the
/// user lacks the right, and the one to take it back.
bool stored_without_expiry(const Reply& reply) noexcept;

/// The fault in the reply of a script, which is an array of so many elements, or says that another type has
/// given way. None says nothing of what the elements are.
Fault fault_of_script(const Reply& reply, std::size_t words) noexcept;

/// Decodes the reply to the charge, repair and refund scripts: an array of used and reset, both integers.
Fault read_charge(const Reply& reply, Window& window) noexcept;

/// Decodes the reply to a charge of a window that is to have `least` without the cost: an array of used,
/// reset and `raised`. Malformed unless the script can give this answer. On any fault `raised` is 0.
Fault read_raise(const Reply& reply, std::int64_t least, Window& window, std::int64_t& raised) noexcept;

struct ReserveCall {
    std::int64_t limit = 0;
    std::int64_t period = 0;  ///< the window's, in seconds
    std::int64_t want = 0;
    std::int64_t least = 0;
    Millis at = 0;  ///< the `now` that was sent to it

    /// The want of an earlier call that this one repeats: it may have been granted, and others have taken
    /// something since; or refused, though there is room now.
    std::int64_t wanted_before = 0;
};

/// Decodes the reply to the reserve script: an array of granted, used and reset, all integers. It is
/// malformed unless the script can give this answer: otherwise a worker would charge tokens that no server
/// has counted, or waiting requests would ask again and again. On any fault `granted` is 0.
Fault read_reserve(const Reply& reply, const ReserveCall& call, std::int64_t& granted,
                   Window& window) noexcept;

/// An answer of lua/hold.lua: slots of this machine and of others, and the number that stands.
struct Held {
    std::int64_t mine = 0;
    std::int64_t others = 0;
    std::int64_t number = 0;
};

/// The answer of Redis about one key, of whatever kind that is.
struct Told {
    std::int64_t granted = 0;
    Window window;               ///< a bucket's is made by full_after()
    bool wrote = false;          ///< something was written that a replica would have refused
    Nanos clock = 0;             ///< by lua/bucket.lua: the instant at which the server's clock answered
    std::uint64_t returned = 0;  ///< by lua/bucket.lua: all that has ever been given back
    BucketReceipt receipt;       ///< for what was taken of a bucket
    Held held;                   ///< of slots
};

/// Decodes the reply to lua/bucket.lua, which counts from the time of its own clock: `now` is this machine's.
/// Malformed unless the script can give this answer. On any fault `told` is as it is made.
Fault read_draw(const Reply& reply, const Draw& draw, Millis now, Told& told) noexcept;

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

/// The answer of Redis about a penalty.
struct ToldPenalty {
    Millis until = 0;    ///< when it ends, by this machine's clock; 0: none runs
    bool ended = false;  ///< an operator has ended the last one
};

/// The longest life of a penalty in milliseconds. One that seems to last longer than that, with max_skew,
/// was written by a machine whose clock is wrong.
constexpr Millis longest_penalty = max_period * 1000;

/// Decodes the reply to lua/penalty.lua, which counts from `now`.
Fault read_penalty(const Reply& reply, Millis now, ToldPenalty& told) noexcept;

/// Decodes the reply to HMGET key until. Another type has no penalty.
Fault read_penalty_check(const Reply& reply, Millis now, ToldPenalty& told) noexcept;

/// Decodes the reply to lua/hold.lua. Malformed unless the script can give this answer to this call.
Fault read_held(const Reply& reply, const Hold& call, Held& held) noexcept;

}  // namespace rate_limit
