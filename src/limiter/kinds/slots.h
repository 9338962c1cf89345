#pragma once

#include "core/slots/slots_account.h"
#include "limiter/kinds/kind.h"

namespace rate_limit {

extern const NamedKind running_slots;

/// Slots of running requests. A report has none: slots cannot be spent.
class SlotsKind final : public Kind {
public:
    constexpr SlotsKind() = default;

    Admission enter_unasked(AppliedLimit& applied, std::int64_t need, Millis now) const noexcept override;
    void take_in(AppliedLimit& applied, const Window& answer, Millis now) const noexcept override;
    bool show_remembered(AppliedLimit& applied, Millis now) const noexcept override;
};

inline constexpr SlotsKind slots_kind;

/// Under which terms the request's limit uses slots.
SlotsTerms slots_terms(const AppliedLimit& applied, Truth truth, Millis now) noexcept;

/// The verdict gets what is used besides this request, which may come again in a second.
void show_running(AppliedLimit& applied, std::int64_t used, Millis now) noexcept;

/// The verdict gets what is used as this machine knows it.
void show_running(AppliedLimit& applied, Millis now) noexcept;

/// The limit as the shard knows it that has its slots.
KeySlots slots_of(const AppliedLimit& applied) noexcept;

/// A request of a store that could not be asked runs all the same. The store is told of it when it answers
/// again, though no other request may come.
void note_running(const AppliedLimit& applied) noexcept;

/// A request begins by what this machine knows. `unchecked` where it has to ask or wait, or for want of room
/// in the memory, which AppliedLimit::failure tells then.
Admission enter_running(AppliedLimit& applied, Truth truth, Millis now) noexcept;

}  // namespace rate_limit
