#include "core/machine/debt_counts.h"

namespace rate_limit {

void DebtCounts::remove(std::uint64_t shard) noexcept {
    std::atomic<std::uint64_t>& windows = count_of(shard).windows;
    std::uint64_t count = windows.load();
    while (count != 0 && !windows.compare_exchange_weak(count, count - 1)) {
    }
}

/// The shard's own place, searched from where its digest points; if all are taken, the last one, which is
/// shared.
DebtCounts::Place& DebtCounts::count_of(std::uint64_t shard) noexcept {
    for (std::size_t i = 0; i < most_shards; ++i) {
        Place& place = places_[(shard + i) % most_shards];
        std::uint64_t owner = place.shard.load();
        if (owner == shard || (owner == 0 && place.shard.compare_exchange_strong(owner, shard)) ||
            owner == shard) {
            return place;
        }
    }
    return places_[most_shards];
}

}  // namespace rate_limit
