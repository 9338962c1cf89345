#pragma once

#include <cstddef>

#include "core/text/json_text.h"
#include "core/text/metrics_text.h"
#include "limiter/configuration.h"
#include "limiter/zone.h"

namespace rate_limit {

// How full the shared memory is, and what gave way in it. In a large zone that is estimated from a sample:
// nobody walks over millions of records. All throw std::bad_alloc.

/// The zone's memory, as this worker found it within the last second.
struct MemoryFigures {
    WindowTable::Occupancy windows;
    std::size_t window_capacity = 0;
    DebtTable::Occupancy waiting;  ///< records of waiting charges, and of tokens
    std::size_t waiting_capacity = 0;
};
MemoryFigures memory_of(Zone& zone) noexcept;

/// Takes a part of that, up to a millisecond, upon itself: for a caller that writes in pieces.
void look_at_windows(Zone& zone) noexcept;

/// The member `zone`.
void write_memory(JsonText& json, const Configuration& main);

void write_memory_metrics(MetricsText& text, const Configuration& main);

}  // namespace rate_limit
