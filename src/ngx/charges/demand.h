#pragma once

#include <cstdint>

#include "core/limit/rate.h"
#include "core/limit/window.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// What a request wants of a window before it is let in: that so much of the limit is charged.
struct Demand {
    WindowId id;  ///< what this machine remembers the window by
    Rate rate;
    WindowKind window_kind = WindowKind::first;
    std::int64_t want = 0;
    std::int64_t least = 0;  ///< if only less than this is left, nothing is granted
    Millis open_until = 0;   ///< the window is known to be open until then, with room for a plain increment;
                             ///< 0: it is not
    std::int64_t batch = 0;  ///< tokens taken at a time in `lease`, if they are fixed

    /// False: batches are as large as batch_size() says.
    bool fixed() const noexcept { return batch != 0; }
};

}  // namespace rate_limit
