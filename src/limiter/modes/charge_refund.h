#pragma once

#include "limiter/modes/mode.h"

namespace rate_limit {

/// Charges the primary before the request passes, if the limit allows it, and gives back what turns out too
/// much: exact across machines.
class ChargeRefund : public Mode {
public:
    constexpr ChargeRefund() noexcept : Mode(windows_kind) {}

    bool needs_cost() const noexcept override { return true; }
    bool recalls_first(const AppliedLimit& applied, bool alone) const noexcept override;
    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override;
    void ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept override;
    Admission admit(AppliedLimit& applied, Millis now) const noexcept override;
    void settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept override;
};

}  // namespace rate_limit
