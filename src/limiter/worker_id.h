#pragma once

#include <cstdint>
#include <string_view>

#include "core/limit/window.h"

namespace rate_limit {

/// Names this worker to Redis: 16 hexadecimal digits, random, so that no other worker anywhere has them.
/// Made at the first call, by which a worker must have been forked. Empty: the system has no random numbers.
std::string_view worker_id() noexcept;

/// The number of a call that may be made again: above all that this worker has given before, and at least the
/// time in microseconds, by which scripts forget old calls where a window has those of many workers.
std::int64_t next_number() noexcept;

/// So long a call may be made again, in milliseconds: half of the time after which scripts may forget it.
constexpr Millis numbered_life = 300'000;

}  // namespace rate_limit
