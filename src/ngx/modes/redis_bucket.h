#pragma once

#include "ngx/modes/mode.h"

namespace rate_limit {

/// Token buckets in Redis: the primary's script takes a request's cost before it passes, if the tokens are
/// there. What it refused names the instant when there will be enough: until then this machine refuses by
/// itself.
class RedisBucket final : public Mode {
public:
    constexpr RedisBucket() = default;

    bool needs_cost() const noexcept override { return true; }
    bool recalls_first(const AppliedLimit& applied, bool alone) const noexcept override;
    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override;
    void ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept override;
    Admission admit(AppliedLimit& applied, Millis now) const noexcept override;
    void settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept override;
};

extern const RedisBucket redis_bucket;

}  // namespace rate_limit
