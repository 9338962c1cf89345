#pragma once

#include <cstddef>
#include <cstdint>

#include "limiter/loop.h"
#include "limiter/store/read.h"
#include "limiter/store/remote_window.h"
#include "limiter/store/shared_reads.h"
#include "limiter/windows/window_place.h"

namespace rate_limit {

class Store;
class Zone;

/// One request's question about its window in one region.
struct RegionPart {
    Store* store = nullptr;  ///< the region's
    RemoteWindow window;     ///< the window there; of another region, as this machine remembers it
    Read read;
    SharedRead shared;        ///< in place of `read`, for a report
    Answer* asked = nullptr;  ///< which of the two was asked; null: none
    bool answered = false;
    const char* failure = nullptr;  ///< why it did not answer; static text. Null where nobody waited for it

    /// The region's answer, or null.
    const Window* told() const noexcept { return answered ? &asked->window() : nullptr; }
};

/// A window of a store with regions, as one request knows it in those that are not here. Lives in memory of
/// the request.
struct Elsewhere {
    RegionPart* here = nullptr;  ///< the region here, before all others
    std::size_t count = 0;       ///< of other regions
    std::int64_t used = 0;       ///< in all of them, as far as this machine knows
    bool fresh = false;          ///< each of them was read within the freshness of the store
    bool known = false;          ///< ... within the last second, so that a report need not ask
    bool remembered = false;     ///< one has not answered: what was last read of it counts

    RegionPart* begin() const noexcept { return here + 1; }
    RegionPart* end() const noexcept { return begin() + count; }
};

/// The windows of all regions of a store that has some. Null without memory.
Elsewhere* locate_elsewhere(RequestMemory& memory, Zone& zone, const WindowPlace& place, const Rate& rate,
                            WindowKind kind) noexcept;

/// Looks at what this machine remembers of them. `freshness` in milliseconds.
void recall_elsewhere(Elsewhere& elsewhere, Millis freshness, Millis now) noexcept;

/// Remembers what they have answered. What one has not answered is what was last read of it; where a request
/// waited for it, that is counted and logged.
void learn_elsewhere(Elsewhere& elsewhere, Route route, Millis now) noexcept;

/// Their answers count for this report alone: nothing is remembered, counted or logged.
void add_elsewhere(Elsewhere& elsewhere, Millis now) noexcept;

}  // namespace rate_limit
