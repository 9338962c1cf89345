#pragma once

#include <cstdint>

#include "core/limit/clocks.h"
#include "core/limit/window.h"
#include "core/machine/records/record.h"

namespace rate_limit {

/// The record in which one machine keeps the penalty of a window or bucket, and how much of that may turn out
/// to be free, without which it must not begin one. Only limits with `penalty=` have such records.
struct [[gnu::may_alias]] PenaltyRecord {
    static constexpr RecordKind is = RecordKind::penalty;
    PenaltyRecord() noexcept { make_new(*this); }

    WindowId id;
    Millis reset;  ///< when the record says nothing any more
    Millis until;  ///< when the penalty ends; 0: none has begun
    Millis asked;  ///< when the store was last asked, or told something, about the penalty

    /// The cost that requests of this machine hold which were let in and have not ended, where it counts as
    /// used before they end. What a killed worker held stays here until its span is over.
    std::int64_t pending;
    std::uint32_t span;  ///< to which that belongs: the low half of a window's end, or of the number of the
                         ///< time in which a bucket is filled once
    /// The cost that requests have given back in the latest slot of half a second, and in the one before: the
    /// bits of floats, since records are compared by their bytes.
    std::uint32_t freed;
    std::uint32_t freed_before;
    bool stored : 1;  ///< the store has the penalty, too
    Truth truth : 1;
    std::uint32_t slot : 27;  ///< the number of that slot, its low bits
    RecordKind kind : 3;
};
static_assert(sizeof(PenaltyRecord) == sizeof(Record), "a record");

/// The id under which it lies for the window or bucket of `id`. No window has it, but by chance.
constexpr WindowId penalty_id_of(const WindowId& id) noexcept {
    return {~id.high, ~id.low};
}

/// Whether the client is rejected.
constexpr bool runs(const PenaltyRecord& record, Millis now) noexcept {
    return now < record.until;
}

/// Begins a penalty that lasts `life` milliseconds, where none runs. True if it has begun.
bool begin_penalty(PenaltyRecord& record, Truth truth, Millis now, Millis life) noexcept;

/// The store has said that a penalty runs until then. One that this machine knows stays as it is.
void learn_penalty(PenaltyRecord& record, Millis until, Millis now) noexcept;

/// The store was asked about a penalty that runs, and has said when it ends: that is right. `until` is 0
/// where it has none; then this machine keeps its own, unless an operator has `ended` it.
void confirm_penalty(PenaltyRecord& record, Millis until, bool ended, Millis now) noexcept;

/// The store has said that none runs.
void note_free(PenaltyRecord& record, Millis now) noexcept;

/// An operator has ended it. The store counts as having said that none runs.
void end_penalty(PenaltyRecord& record, Millis now) noexcept;

/// Whether it is time to ask the store about a penalty that runs: ten seconds after it was asked last, or
/// one, where it is not known to have it. True for one caller: the record notes that it asks.
bool takes_turn(PenaltyRecord& record, Millis now) noexcept;

/// Whether the store has said within `freshness` milliseconds that no penalty runs.
bool is_known_free(const PenaltyRecord& record, Millis now, Millis freshness) noexcept;

/// A request that is let in holds so much of this span; after `reset` that says nothing any more. And it
/// ends, and has given so much of that back, `freed`.
void hold(PenaltyRecord& record, std::uint32_t span, Millis reset, std::int64_t cost) noexcept;
void release(PenaltyRecord& record, std::uint32_t span, std::int64_t cost, std::int64_t freed,
             Millis now) noexcept;

/// How much of what counts as used may turn out to be free: what requests of this machine hold in the span,
/// and what they have given back within the last half a second to a second, as an answer that is older may
/// count it.
double may_be_free(const PenaltyRecord& record, std::uint32_t span, Millis now) noexcept;

}  // namespace rate_limit
