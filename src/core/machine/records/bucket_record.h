#pragma once

#include <cstdint>

#include "core/limit/bucket.h"
#include "core/machine/records/record.h"

namespace rate_limit {

/// Milliseconds of this machine's steady clock, modulo 2^32.
using Ticks = std::uint32_t;

/// The times of a machine's tokens of a bucket.
struct BatchTimes {
    static constexpr unsigned turn_bits = 22;
    static constexpr std::uint32_t longest_after = (1U << 10) - 1;

    Ticks end;  ///< when the oldest of those at hand die

    /// Since when the youngest batch is on its way; else when the last one was answered. Modulo 2^22.
    std::uint32_t turn : turn_bits;

    std::uint32_t after : 10;  ///< the younger ones die so many milliseconds after `end`
};

/// One token bucket as one machine remembers it. From `reset` on the record says nothing that a new one would
/// not say. A new record is a full bucket.
struct [[gnu::may_alias]] BucketRecord {
    static constexpr RecordKind is = RecordKind::bucket;
    static constexpr std::uint32_t max_under_way = (1U << 22) - 1;
    static constexpr std::int64_t max_younger = (1 << 20) - 1;
    static constexpr std::uint32_t max_fetching = 7;

    BucketRecord() noexcept {
        make_new(*this);
        pace = start_pace;
    }

    /// The times of its tokens, if it has had any since it last counted what was given back.
    BatchTimes batch() const noexcept { return counts ? BatchTimes{} : times; }

    WindowId id;
    Millis reset;   ///< `full_at`, rounded up; 0: no bucket
    Nanos full_at;  ///< when the bucket is full again

    union {
        std::uint64_t returned;  ///< what has ever been given back, as BucketReceipt has it; if `counts`
        BatchTimes times;        ///< else; read by batch()
    };

    std::uint64_t longest : 40;  ///< milliseconds: the longest time to fill of any limit that shares it

    /// If `counts`, when note_stored()'s life ends, in 1,024 milliseconds, modulo 2^20; else what younger()
    /// says.
    std::uint64_t stored_or_younger : 20;

    bool answered : 1;  ///< the primary has answered at `asked`, or a request asks it since then
    std::uint64_t same_answers : 3;
    std::uint64_t leased : 40;   ///< tokens at hand
    std::uint64_t mark : 20;     ///< whose they are: TokenTerms::mark
    bool counts : 1;             ///< `returned` is known
    std::uint64_t fetching : 3;  ///< batches on their way
    std::uint32_t asked;
    std::uint32_t under_way : 22;  ///< the cost of plain commands under way
    Truth truth : 1;
    bool confirmed : 1;  ///< `full_at` is known
    std::uint32_t pace : 5;
    RecordKind kind : 3;
};
static_assert(sizeof(BucketRecord) == sizeof(Record), "a record");

/// Tokens granted to this machine and not spent.
inline std::int64_t at_hand(const BucketRecord& record) noexcept {
    return static_cast<std::int64_t>(record.leased);
}

/// Those of the tokens at hand that die after the others.
inline std::int64_t younger(const BucketRecord& record) noexcept {
    return record.counts ? 0 : static_cast<std::int64_t>(record.stored_or_younger);
}

}  // namespace rate_limit
