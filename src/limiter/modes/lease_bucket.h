#pragma once

#include "limiter/modes/redis_bucket.h"

namespace rate_limit {

/// Spends tokens of a bucket in Redis that this machine fetched in advance, a batch at a time, and that die
/// soon: see core/bucket/bucket_tokens.h. Where the bucket refills too slowly for that, each request asks,
/// as in charge_refund; and so does one that costs nothing.
class LeaseBucket final : public RedisBucket {
public:
    constexpr LeaseBucket() = default;

    void fit_bucket(AppliedLimit& applied) const noexcept override;
    bool recalls_first(const AppliedLimit& applied, bool alone) const noexcept override;
    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override;
    void ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept override;
    Admission admit(AppliedLimit& applied, Millis now) const noexcept override;
    void settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept override;
};

extern const LeaseBucket lease_bucket;

}  // namespace rate_limit
