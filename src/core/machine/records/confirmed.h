#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/limit/window.h"
#include "core/machine/records/record.h"

namespace rate_limit {

/// The count that the primary has last confirmed of a window, by its answer to a charge from this machine: so
/// much the next primary should know of it, should this one be lost. Kept for confirmed_kept, under an id of
/// its own, and the first to give way.
struct [[gnu::may_alias]] ConfirmedRecord {
    static constexpr RecordKind is = RecordKind::confirmed;
    ConfirmedRecord() noexcept { make_new(*this); }

    WindowId id;
    Millis reset;   ///< until when it is worth keeping
    Window window;  ///< as confirmed; {0, 0}: nothing is, since the window was given something back
    Millis at;      ///< when this machine learnt that
    std::array<std::uint32_t, 3> unused;
    std::uint32_t rest : 29;
    RecordKind kind : 3;
};
static_assert(sizeof(ConfirmedRecord) == sizeof(Record), "a record");

/// Milliseconds for which it is kept.
constexpr Millis confirmed_kept = 60'000;

/// The id under which it lies for the window of `id`. No window has it, but by chance. It shares the window's
/// sets, so that most of what a change reads is in the cache since the window's.
constexpr WindowId confirmed_id_of(const WindowId& id) noexcept {
    return {id.high, ~id.low};
}

/// The primary has answered `answer` to a charge that left at `sent`. Only one that left after the last
/// answer came is certainly newer: it may say less, or name another window. Other answers come in any order,
/// and raise what is known of the same window; after something was given back they say nothing.
void note_confirmed(ConfirmedRecord& record, const Window& answer, Millis sent, Millis now) noexcept;

/// The window was given something back, or perhaps was.
void make_void(ConfirmedRecord& record, Millis now) noexcept;

/// The window as the primary confirmed it between these two instants; empty: it did not, or the window has
/// ended, or its end is one from a wrong clock.
std::optional<Window> confirmed_between(const ConfirmedRecord& record, Millis first, Millis last,
                                        std::int64_t period, Millis now) noexcept;

}  // namespace rate_limit
