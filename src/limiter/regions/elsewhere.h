#pragma once

#include <cstddef>
#include <cstdint>

#include "core/limit/rate.h"
#include "limiter/loop.h"
#include "limiter/store/read.h"
#include "limiter/store/remote_window.h"
#include "limiter/store/shared_reads.h"
#include "limiter/windows/window_place.h"

namespace rate_limit {

class Store;
class Zone;

/// What one request asks of its window in one region.
struct RegionPart {
    Store* store = nullptr;  ///< the region's
    RemoteWindow window;     ///< of another region, as this machine remembers it, once it has been recalled
    Read read;
    SharedRead shared;  ///< in place of `read`, for a report
    bool answered = false;
    Window told;                    ///< the answer
    const char* failure = nullptr;  ///< why it did not answer; static text. Null where nobody waited for it
};

/// A window of a store with regions, as one request knows it in those that are not here. All of it is 0 for
/// other stores.
struct Elsewhere {
    RegionPart* here = nullptr;  ///< the region here; null: the store has no regions
    RegionPart* parts = nullptr;
    std::size_t count = 0;    ///< of parts
    std::int64_t used = 0;    ///< in all of them, as far as this machine knows
    bool fresh = false;       ///< each of them was read within the freshness of the store
    bool known = true;        ///< ... within the last second, so that a report need not ask
    bool remembered = false;  ///< one has not answered: what was last read of it counts

    RegionPart* begin() const noexcept { return parts; }
    RegionPart* end() const noexcept { return parts + count; }
};

/// The window's rate, its kind, and the time.
struct WindowTime {
    Rate rate;
    WindowKind kind = WindowKind::clock;
    Millis now = 0;
};

/// Finds the windows of the other regions in memory of the request. Null, or why not; static text.
const char* locate_elsewhere(RequestMemory& memory, const WindowPlace& place, Elsewhere& elsewhere) noexcept;

/// Looks at what this machine remembers of them. `freshness` in milliseconds.
void recall_elsewhere(Zone& zone, const WindowTime& at, Millis freshness, Elsewhere& elsewhere) noexcept;

/// Remembers what they have answered. What one has not answered is what was last read of it, which is counted
/// and logged. The region here has answered.
void learn_elsewhere(Millis now, Route route, Elsewhere& elsewhere) noexcept;

}  // namespace rate_limit
