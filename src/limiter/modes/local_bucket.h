#pragma once

#include "limiter/kinds/bucket.h"
#include "limiter/modes/mode.h"

namespace rate_limit {

/// Token buckets in the memory of this machine: a request takes its cost before it passes, if the tokens are
/// there.
class LocalBucket final : public Mode {
public:
    constexpr LocalBucket() noexcept : Mode(buckets_kind) {}

    bool needs_cost() const noexcept override { return true; }
    bool recalls_first(const AppliedLimit& applied, bool alone) const noexcept override;
    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override;
    Admission admit(AppliedLimit& applied, Millis now) const noexcept override;
    void settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept override;
    std::int64_t leave_queue(AppliedLimit& applied, Millis now) const noexcept override;
};

extern const LocalBucket local_bucket;

}  // namespace rate_limit
