#pragma once

#include "core/slots/slots_account.h"
#include "limiter/modes/applied_limit.h"
#include "limiter/modes/mode.h"

namespace rate_limit {

// Slots of running requests, as this machine counts them.

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
