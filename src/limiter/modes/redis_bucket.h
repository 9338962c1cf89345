#pragma once

#include "limiter/kinds/bucket.h"
#include "limiter/modes/mode.h"

namespace rate_limit {

/// Token buckets in Redis: the primary takes a request's cost before it passes, if the tokens are there, by a
/// script or by a plain command. What it refused names the instant when there will be enough: until then
/// this machine refuses by itself, and asks again ever more seldom (is_to_be_asked()).
class RedisBucket : public Mode {
public:
    constexpr RedisBucket() noexcept : Mode(buckets_kind) {}

    bool needs_cost() const noexcept override { return true; }
    bool recalls_first(const AppliedLimit& applied, bool alone) const noexcept override;
    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override;
    void ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept override;
    Admission admit(AppliedLimit& applied, Millis now) const noexcept override;
    void settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept override;
    std::int64_t leave_queue(AppliedLimit& applied, Millis now) const noexcept override;

protected:
    static Demand demand_of(const AppliedLimit& applied) noexcept;

    /// recall(), where the store is not to be asked before the bucket has `need` tokens.
    static Recalled recall_for(AppliedLimit& applied, std::int64_t need, Millis now) noexcept;

    /// Gives back what the request took from the memory of this machine alone.
    static void leave_memory(AppliedLimit& applied, const Holding& holding, Millis now) noexcept;

    /// The primary is charged, however little is left.
    static void charge_late(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept;
};

extern const RedisBucket redis_bucket;

}  // namespace rate_limit
