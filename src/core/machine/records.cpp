#include "core/machine/records.h"

#include <limits>

namespace rate_limit {

namespace {

/// Milliseconds after a bucket that tokens were taken of is full again, by a clock that may be set forward:
/// workers that still have what notes the tokens have given them back by then.
constexpr Millis tokens_outlive = 86'400'000;

double share_of(std::int64_t part, std::uint64_t whole) noexcept {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                     : std::numeric_limits<double>::infinity();
}

EvictionRank rank_of(const WindowRecord& window) noexcept {
    if (window.in_flight != 0 || window.unanswered != 0) {
        return {EvictionTier::never, 0};
    }
    if (window.leased != 0) {
        return {EvictionTier::lease, share_of(at_hand(window), window.limit)};
    }
    const double share = share_of(window.used, window.limit);
    if (window.truth == Truth::redis) {
        return {EvictionTier::copy, share};
    }
    const bool used_up = window.used >= static_cast<std::int64_t>(window.limit);
    return {used_up ? EvictionTier::never : EvictionTier::local, share};
}

/// The emptiest give way last. The cost of plain commands under way only spares the primary some others.
EvictionRank rank_of(const BucketRecord& bucket, Millis now) noexcept {
    if (bucket.leased != 0) {
        return {EvictionTier::lease, share_of(at_hand(bucket), bucket.longest)};
    }
    return {bucket.truth == Truth::redis ? EvictionTier::copy : EvictionTier::local,
            share_of(bucket.reset - now, bucket.longest)};
}

/// One that runs gives way last of its tier: a site that is flooded by new keys has room for them.
EvictionRank rank_of(const PenaltyRecord& penalty, Millis now) noexcept {
    if (penalty.pending != 0) {
        return {EvictionTier::never, 0};
    }
    return {penalty.truth == Truth::local ? EvictionTier::local : EvictionTier::copy,
            runs(penalty, now) ? std::numeric_limits<double>::infinity() : 0};
}

EvictionRank rank_of(const SlotsRecord& slots) noexcept {
    if (slots.running != 0 || slots.waiting != 0) {
        return {EvictionTier::never, 0};
    }
    const auto held = static_cast<std::int64_t>(slots.slots);
    return held != 0 ? EvictionRank{EvictionTier::lease, share_of(held, slots.others)}
                     : EvictionRank{EvictionTier::copy, std::numeric_limits<double>::infinity()};
}

}  // namespace

EvictionRank eviction_rank(const Record& record, Millis now) noexcept {
    const bool has_tokens = record.kind == RecordKind::bucket && at_hand(record.as<BucketRecord>()) != 0;
    if (record.reset <= now - (has_tokens ? tokens_outlive : 0)) {
        return {EvictionTier::ended, 0};
    }
    switch (record.kind) {
        case RecordKind::window:
            return rank_of(record.as<WindowRecord>());
        case RecordKind::bucket:
            return rank_of(record.as<BucketRecord>(), now);
        case RecordKind::slots:
            return rank_of(record.as<SlotsRecord>());
        case RecordKind::share:
            return {record.as<ShareRecord>().running != 0 ? EvictionTier::never : EvictionTier::copy,
                    std::numeric_limits<double>::infinity()};
        case RecordKind::penalty:
            return rank_of(record.as<PenaltyRecord>(), now);
        case RecordKind::reading:
        case RecordKind::confirmed:
            break;
    }
    return {EvictionTier::copy, 0};
}

template class RecordTable<Record>;

}  // namespace rate_limit
