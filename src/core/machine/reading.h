#pragma once

#include <optional>

#include "core/limit/window.h"
#include "core/machine/window_record.h"

namespace rate_limit {

/// A reading is what a node of the store said of a window when it was read for a report, kept for
/// reading_kept so that the next reports need not ask again: one worker reads, and all others find its
/// reading, or that it has begun.
///
/// A reading lies among the records of windows under an id of its own, as a copy that ends by itself and is
/// the first to give way. No request looks at it, so a report changes nothing for requests.

/// Milliseconds for which a reading counts.
constexpr Millis reading_kept = 1000;

/// The id under which the reading of the window of `id` lies. No window has it, but by chance.
constexpr WindowId reading_id_of(const WindowId& id) noexcept {
    return {~id.high, id.low};
}

/// The window as it was read; empty if there is no reading, or it is too old.
std::optional<Window> known_reading(const WindowRecord& record, Millis now) noexcept;

/// The caller wants to read the window. True if it has to: no other worker has begun to within the last
/// `patience`, the milliseconds after which a read has failed. Only where known_reading() is empty.
bool begin_reading(WindowRecord& record, Millis now, Millis patience) noexcept;

/// A node has answered.
void end_reading(WindowRecord& record, const Window& answer, Millis now) noexcept;

/// The read failed, or nobody waits for it any more: the next worker that wants it has to read.
void give_up_reading(WindowRecord& record) noexcept;

}  // namespace rate_limit
