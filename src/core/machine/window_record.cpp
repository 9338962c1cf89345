#include "core/machine/window_record.h"

#include <limits>

namespace rate_limit {

EvictionRank eviction_rank(const WindowRecord& record, Millis now) noexcept {
    if (record.reset <= now) {
        return {Hold::none, 0};
    }
    if (record.in_flight != 0 || record.unanswered != 0) {
        return {Hold::firm, 0};
    }
    const auto share_of = [&record](std::int64_t part) {
        return record.limit > 0 ? static_cast<double>(part) / static_cast<double>(record.limit)
                                : std::numeric_limits<double>::infinity();
    };
    if (record.leased != 0) {
        return {Hold::lease, share_of(at_hand(record))};
    }
    const double share = share_of(record.used);
    if (record.truth == Truth::redis) {
        return {Hold::copy, share};
    }
    return {record.used >= static_cast<std::int64_t>(record.limit) ? Hold::firm : Hold::light, share};
}

}  // namespace rate_limit
