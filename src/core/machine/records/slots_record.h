#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "core/machine/records/record.h"

namespace rate_limit {

/// Added to `reset`: later than any time, so that no table forgets a record in which requests run.
constexpr Millis pinned = Millis{1} << 50;

/// The most requests that one record counts as running.
constexpr std::uint32_t max_running = (1U << 23) - 1;

/// A limit of running requests as one machine remembers it.
struct [[gnu::may_alias]] SlotsRecord {
    static constexpr RecordKind is = RecordKind::slots;
    static constexpr std::uint32_t max_waiting = (1U << 23) - 1;

    SlotsRecord() noexcept { make_new(*this); }

    WindowId id;

    /// When the slots lapse, or, without any, until when the record is worth keeping; with `pinned` added as
    /// long as requests run.
    Millis reset;

    std::int64_t number;         ///< the last call's
    std::uint64_t slots : 40;    ///< held by this machine
    std::uint64_t waiting : 23;  ///< requests that wait for slots
    bool in_doubt : 1;  ///< a call was sent and is not answered: Redis may have another number of slots
    std::uint64_t others : 40;  ///< slots of other machines, as last told
    std::uint64_t deaths : 20;  ///< how many workers had died when `running` was last known to be right
    bool calling : 1;           ///< a call is under way, unless it has taken too long
    bool unanswered : 1;        ///< a call before it was never answered, and might still reach Redis
    std::uint64_t unused : 2;
    std::uint32_t asked;    ///< when the last call was sent; once it is answered, when it was
    std::uint32_t needed;   ///< when the slots were last all needed: the low half of Millis, as `asked` is
    std::uint32_t changes;  ///< of `running`
    std::uint32_t running : 23;  ///< requests that run here: the sum of what the workers' shares have
    std::uint32_t spare : 6;
    RecordKind kind : 3;
};
static_assert(sizeof(SlotsRecord) == sizeof(Record), "a record");
static_assert(std::has_unique_object_representations_v<SlotsRecord>, "equal records have equal bytes");

/// The running requests of one key in one worker.
struct [[gnu::may_alias]] ShareRecord {
    static constexpr RecordKind is = RecordKind::share;
    ShareRecord() noexcept { make_new(*this); }

    WindowId id;
    Millis reset;         ///< until when it is worth keeping; `pinned` as long as requests run
    std::uint64_t owner;  ///< the worker, as WorkerPlaces names it
    std::uint32_t place;  ///< the worker's
    std::array<std::uint32_t, 6> unused;
    std::uint32_t running : 23;
    std::uint32_t spare : 6;
    RecordKind kind : 3;
};
static_assert(sizeof(ShareRecord) == sizeof(Record), "a record");
static_assert(std::has_unique_object_representations_v<ShareRecord>, "equal records have equal bytes");

}  // namespace rate_limit
