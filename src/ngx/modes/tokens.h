#pragma once

#include "ngx/modes/recollection.h"

namespace rate_limit {

/// Spends tokens of a leased limit that are at hand; has more fetched before they run out.
Recalled draw(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, Millis now) noexcept;

/// What the check was handed out.
Admission take_tokens(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, Millis now) noexcept;

/// All that the request holds of it goes back to this machine's tokens.
void give_back_tokens(AppliedLimit& applied) noexcept;

/// The request leaves a leased limit; `cost` is what it is charged in all. Returns what of that is still to
/// be charged to the primary.
std::int64_t settle_tokens(AppliedLimit& applied, const Verdict& verdict, std::int64_t cost,
                           Millis now) noexcept;

}  // namespace rate_limit
