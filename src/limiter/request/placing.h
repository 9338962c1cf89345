#pragma once

#include "limiter/loop.h"
#include "limiter/request/limited_request.h"

namespace rate_limit {

// Steps to the place where a limit counts a request, from top to bottom, once the limit is evaluated.

/// The limit is 0: it rejects all, and no store is asked.
void close(AppliedLimit& applied, const Rate& rate, Millis now) noexcept;

/// The key has no limit until then: no store is asked.
void ban(AppliedLimit& applied, const Rate& rate, Millis until) noexcept;

/// Lets operators find the windows of this period, and the buckets of this burst, where variables say them.
void note_rate(const Configuration& configuration, const Limit& limit, const Rate& rate,
               const StoreConf* store) noexcept;
void note_burst(const Configuration& configuration, const Limit& limit, const Rate& rate, std::int64_t burst,
                const StoreConf* store) noexcept;

/// A token bucket of this burst counts. Null, or why there is none; static text.
const char* count_tokens(AppliedLimit& applied, const Rate& rate, std::int64_t burst) noexcept;

/// Finds the window in the store, null: `local`; and the mode that counts it. Null, or why not; static text.
const char* find_place(const Configuration& configuration, RequestMemory& memory, AppliedLimit& applied,
                       const Rate& rate, StoreConf* store) noexcept;

/// An earlier limit of this request that turned out to have the same window; null if there is none.
const Limit* twin_of(const LimitedRequest& request, const AppliedLimit& applied) noexcept;

/// The cost is known: the request is refused where it never fits.
void compare_cost(AppliedLimit& applied) noexcept;

/// The request is charged so much, an estimate, before it is known what it costs; at most the whole limit, as
/// it would never pass else. What it costs in the end may be more.
void reserve(AppliedLimit& applied, std::int64_t estimate) noexcept;

}  // namespace rate_limit
