#pragma once

#include "core/machine/slots_account.h"
#include "ngx/modes/applied_limit.h"
#include "ngx/modes/mode.h"

namespace rate_limit {

// Slots of running requests, as this machine counts them.

/// Under which terms the request's limit uses slots.
SlotsTerms slots_terms(const AppliedLimit& applied, Truth truth, Millis now) noexcept;

/// The verdict gets what is used besides this request, which may come again in a second.
void show_running(AppliedLimit& applied, std::int64_t used, Millis now) noexcept;

/// The same as this machine knows it.
void show_running(AppliedLimit& applied, Millis now) noexcept;

/// A request begins by what this machine knows. `unchecked` where it has to ask or wait, or for want of room
/// in the memory, which AppliedLimit::failure tells then.
Admission enter_running(AppliedLimit& applied, Truth truth, Millis now) noexcept;

}  // namespace rate_limit
