#pragma once

#include "limiter/kinds/applied_limit.h"

namespace rate_limit {

/// Counts tokens of a lease that requests here have spent, 0 or more.
inline void count_spent(AppliedLimit& applied, std::int64_t tokens) noexcept {
    applied.shard().counters().add(TokenEvent::spent, tokens);
}

}  // namespace rate_limit
