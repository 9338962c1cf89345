#include "core/machine/window_record.h"

#include <limits>

namespace rate_limit {

namespace {

/// Milliseconds after a bucket that tokens were taken of is full again, by a clock that may be set forward:
/// workers that still have what notes the tokens have given them back by then.
constexpr Millis tokens_outlive = 86'400'000;

}  // namespace

EvictionRank eviction_rank(const WindowRecord& record, Millis now) noexcept {
    if (record.reset <= now - (record.bucket && record.leased != 0 ? tokens_outlive : 0)) {
        return {EvictionTier::ended, 0};
    }
    // The cost in flight to a bucket only spares the primary some commands.
    if ((record.in_flight != 0 && !record.bucket) || record.unanswered != 0) {
        return {EvictionTier::never, 0};
    }
    const auto share_of = [&record](std::int64_t part) {
        return record.limit > 0 ? static_cast<double>(part) / static_cast<double>(record.limit)
                                : std::numeric_limits<double>::infinity();
    };
    if (record.leased != 0) {
        return {EvictionTier::lease, share_of(at_hand(record))};
    }
    const double share = share_of(record.bucket ? record.reset - now : record.used);
    if (record.truth == Truth::redis) {
        return {EvictionTier::copy, share};
    }
    // A bucket is never used up for long: the emptiest give way last.
    const bool used_up = !record.bucket && record.used >= static_cast<std::int64_t>(record.limit);
    return {used_up ? EvictionTier::never : EvictionTier::local, share};
}

template class RecordTable<WindowRecord>;

}  // namespace rate_limit
