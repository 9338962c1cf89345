#pragma once

#include <cstddef>

#include "limiter/configuration.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"
#include "operator/figures/columns.h"

namespace rate_limit {

// How full the shared memory is, and what gave way in it. In a large zone that is estimated from a sample:
// nobody walks over millions of records.

/// The zone's memory, as this worker found it within the last second.
struct MemoryFigures {
    const Zone* zone;
    const PressureGauge* pressure;
    WindowTable::Occupancy windows;
    std::size_t window_capacity = 0;
    DebtTable::Occupancy waiting;  ///< records of waiting charges, and of tokens
    std::size_t waiting_capacity = 0;
};
MemoryFigures memory_of(const Configuration& main) noexcept;

/// Takes a part of that, up to a millisecond, upon itself: for a caller that writes in pieces.
void look_at_windows(Zone& zone) noexcept;

/// Its columns with a heading are told on the page, each as a row.
extern const Sheet<MemoryFigures> memory_sheet;

}  // namespace rate_limit
