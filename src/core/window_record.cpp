#include "core/window_record.h"

#include <limits>

namespace rate_limit {

EvictionRank eviction_rank(const WindowRecord& record, Millis now) noexcept {
    if (record.reset <= now) {
        return {Hold::none, 0};
    }
    if (record.in_flight != 0 || record.leased != 0 || record.unanswered != 0) {
        return {Hold::firm, 0};
    }
    const double share = record.limit > 0
                             ? static_cast<double>(record.used) / static_cast<double>(record.limit)
                             : std::numeric_limits<double>::infinity();
    if (record.truth == Truth::redis) {
        return {Hold::copy, share};
    }
    return {record.used >= static_cast<std::int64_t>(record.limit) ? Hold::firm : Hold::light, share};
}

}  // namespace rate_limit
