#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/limit/window.h"
#include "core/machine/records/record.h"

namespace rate_limit {

/// A reading is what a node of the store said of a window when it was read for a report, kept for
/// reading_kept so that the next reports need not ask again: one worker reads, and all others find its
/// reading, or that it has begun.
///
/// A reading lies under an id of its own, ends by itself, and is the first to give way. No request looks at
/// it, so a report changes nothing for requests.

struct [[gnu::may_alias]] ReadingRecord {
    static constexpr RecordKind is = RecordKind::reading;
    ReadingRecord() noexcept { make_new(*this); }

    WindowId id;
    Millis reset;   ///< when the reading ends, or the node must have answered
    Window window;  ///< as it was read, once a node has `answered`
    std::array<std::uint32_t, 9 - sizeof(Window) / 4> unused;
    bool answered : 1;
    std::uint32_t rest : 28;
    RecordKind kind : 3;
};
static_assert(sizeof(ReadingRecord) == sizeof(Record), "a record");

/// Milliseconds for which a reading counts.
constexpr Millis reading_kept = 1000;

/// The id under which the reading of the window of `id` lies. No window has it, but by chance.
constexpr WindowId reading_id_of(const WindowId& id) noexcept {
    return {~id.high, id.low};
}

/// The window as it was read; empty if there is no reading, or it is too old.
std::optional<Window> known_reading(const ReadingRecord& record, Millis now) noexcept;

/// The caller wants to read the window. True if it has to: no other worker has begun to within the last
/// `patience`, the milliseconds after which a read has failed. Only where known_reading() is empty.
bool begin_reading(ReadingRecord& record, Millis now, Millis patience) noexcept;

/// A node has answered.
void end_reading(ReadingRecord& record, const Window& answer, Millis now) noexcept;

/// The read failed, or nobody waits for it any more: the next worker that wants it has to read.
void give_up_reading(ReadingRecord& record) noexcept;

}  // namespace rate_limit
