#pragma once

#include <cstdint>
#include <limits>

#include "core/machine/window_account.h"

namespace rate_limit {

constexpr Millis now = 1'700'000'000'000;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

inline Terms terms(std::int64_t limit, Millis at = now, Truth truth = Truth::redis) {
    return {{limit, 60}, truth, at + 60'000, at};
}

inline WindowRecord with_id() {
    WindowRecord record;
    record.id = {7, 8};
    return record;
}

/// The record of a window whose reset Redis has confirmed.
inline WindowRecord known(std::int64_t used, Millis reset, std::int64_t limit = 10) {
    WindowRecord record = with_id();
    learn(record, terms(limit), {used, reset});
    return record;
}

}  // namespace rate_limit
