#pragma once

#include <cstdint>
#include <string_view>

#include "core/limit/bucket.h"
#include "core/limit/rate.h"
#include "core/limit/window.h"
#include "core/table/window_id.h"

namespace rate_limit {

class CommandWriter;
class Zone;

/// An operator's order to give back to one window.
struct GivingBack {
    /// All that is used, however much that is.
    static constexpr std::int64_t all_of_it = most_used;

    WindowId id;
    Rate rate;
    WindowKind window_kind = WindowKind::first;
    std::int64_t cost = 0;
    Millis reset = 0;  ///< end of the window; 0: none is open
    Nanos token = 0;   ///< time to refill one token of a bucket
    Nanos fill = 0;    ///< time to fill the bucket

    bool of_bucket() const noexcept { return window_kind == WindowKind::bucket; }
    bool all() const noexcept { return cost == all_of_it; }
};

/// The primary has given it back, and `answer` is the window after that; {0, 0}: it is not there. The memory
/// of this machine learns of it; `waiting`: the cost of all charges that wait there for the window. Returns
/// how many tokens at hand are lost: they would be had twice.
std::int64_t learn_given_back(Zone& zone, const GivingBack& what, const Window& answer,
                              std::int64_t waiting) noexcept;

/// Confirmed counts of the window are forgotten: a successor of its primary is not told of them. Buckets have
/// none.
void forget_confirmed(Zone& zone, const GivingBack& what, Millis now) noexcept;

/// Writes the command that gives it back to the window of this Redis key.
std::string_view write(CommandWriter& writer, std::string_view key, const GivingBack& what, bool with_text);

}  // namespace rate_limit
