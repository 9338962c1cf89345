#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/limit/bucket.h"
#include "core/limit/rate.h"
#include "core/limit/window.h"
#include "core/table/window_id.h"
#include "redis/command.h"

namespace rate_limit {

/// The part of a limit that a request asks to have charged to a window before it is let in.
struct Demand {
    WindowId id;  ///< identifies the window in the memory of this machine
    Rate rate;
    WindowKind window_kind = WindowKind::first;
    std::int64_t want = 0;   ///< at most; requests, or tokens of a bucket
    std::int64_t least = 0;  ///< if only less than this is left, nothing is granted
    Millis open_until = 0;   ///< the window is known to be open until then, or the bucket to be stored, with
                             ///< room for a plain command; 0: it is not
    std::int64_t batch = 0;  ///< tokens taken at a time in `lease`, if they are fixed

    /// The sum given back to a bucket that is known to be stored, or less.
    std::uint64_t returned = 0;
    bool filling = false;  ///< and it is known not to be full

    Nanos token = 0;  ///< time to refill one token of a bucket
    Nanos fill = 0;   ///< time to fill the bucket
    Millis life = 0;  ///< lifetime of tokens taken in advance from a bucket in `lease`

    bool queues = false;  ///< requests wait for the bucket's tokens: a place goes back only as the last one

    bool of_bucket() const noexcept { return window_kind == WindowKind::bucket; }

    /// A cost as debts count it: of a bucket in nanoseconds, the time in which so much of it is refilled.
    std::int64_t owed_for(std::int64_t cost) const noexcept {
        return of_bucket() ? std::min(cost, fill / token) * token : cost;
    }

    /// Whether both have the same rate and burst, so that they can share leased tokens of a bucket.
    bool sees_bucket_as(const Demand& other) const noexcept {
        return token == other.token && fill == other.fill;
    }

    /// False: batches are as large as batch_size() or begin_batch() say.
    bool fixed() const noexcept { return batch != 0; }
};

/// Writes the call of the script that grants it. `opening` has the key, and the window that would open; of
/// the call `wanted` has the number alone.
std::string_view write(CommandWriter& writer, const Opening& opening, const Demand& demand, Wanted wanted,
                       bool with_text);

}  // namespace rate_limit
