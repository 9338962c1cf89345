#pragma once

#include "limiter/modes/mode.h"

namespace rate_limit {

/// The memory of this machine is the store.
class Local final : public Mode {
public:
    explicit constexpr Local(bool reserves) noexcept : Mode(windows_kind), reserves_(reserves) {}

    bool needs_cost() const noexcept override { return reserves_; }
    bool recalls_first(const AppliedLimit& applied, bool alone) const noexcept override;
    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override;
    Admission admit(AppliedLimit& applied, Millis now) const noexcept override;
    void settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept override;

private:
    std::int64_t need(const AppliedLimit& applied) const noexcept { return reserves_ ? applied.cost : 1; }

    const bool reserves_;
};

/// A request is charged when it ends; until then it counts as one.
extern const Local local_charge;

/// A request is charged its cost before it passes, if that fits.
extern const Local local_reserve;

}  // namespace rate_limit
