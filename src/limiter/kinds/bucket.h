#pragma once

#include "core/machine/records/bucket_record.h"
#include "limiter/kinds/kind.h"

namespace rate_limit {

extern const NamedKind token_buckets;

/// Token buckets.
class BucketsKind final : public Kind {
public:
    constexpr BucketsKind() = default;

    Admission enter_unasked(AppliedLimit& applied, std::int64_t need, Millis now) const noexcept override;
    void take_in(AppliedLimit& applied, const Window& answer, Millis now) const noexcept override;
    bool show_remembered(AppliedLimit& applied, Millis now) const noexcept override;
    bool show_refusal(AppliedLimit& applied, Millis now) const noexcept override;
    bool is_known(AppliedLimit& applied, Millis now) const noexcept override;
    void show_unchanged(AppliedLimit& applied, const Window* answer, Millis now) const noexcept override;
    Remembered remembered(const KeyWindow& of, const Record& record, Millis now) const noexcept override;
    Window shown(const KeyWindow& of, const Window& answer, Millis now) const noexcept override;
    void give_back(const KeyWindow& of, WindowTable& table, std::int64_t cost, Window& before,
                   Window& after) const noexcept override;
};

inline constexpr BucketsKind buckets_kind;

/// Puts the bucket into the verdict as this record has it. Tokens at hand are not taken, nor is what the
/// request `holds`.
void show_bucket(AppliedLimit& applied, const BucketRecord& record, std::int64_t holds, Millis now) noexcept;

/// Notes how long the request, which has been let in, waits for its turn by `delay=`: it has left the bucket
/// to be full at that instant.
void note_delay(AppliedLimit& applied, Nanos full_at, Millis now) noexcept;

/// Takes the request's cost from the bucket as this machine knows it, if the tokens are there: `reserved`
/// from one of this machine, `in_flight` in place of a store that does not answer. The verdict gets the
/// bucket as it was before, unless that is `unchecked` for want of room in the memory.
Admission enter_bucket(AppliedLimit& applied, Holding::Kind kind, Millis now) noexcept;

}  // namespace rate_limit
