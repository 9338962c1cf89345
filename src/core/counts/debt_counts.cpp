#include "core/counts/debt_counts.h"

namespace rate_limit {

void DebtCounts::remove(std::uint64_t shard) noexcept {
    std::atomic<std::uint64_t>& windows = count_of(shard).windows;
    std::uint64_t count = windows.load();
    while (count != 0 && !windows.compare_exchange_weak(count, count - 1)) {
    }
}

void DebtCounts::begin_round() noexcept {
    const std::uint32_t next = round_.load() + 1;
    for (Place& place : places_) {
        place.charges[next % 2].store(0, std::memory_order_relaxed);
        place.tokens[next % 2].store(0, std::memory_order_relaxed);
    }
    round_.store(next);
}

void DebtCounts::see(std::uint64_t shard, std::uint64_t charges, std::int64_t tokens) noexcept {
    Place& place = count_of(shard);
    const std::size_t round = round_.load(std::memory_order_relaxed) % 2;
    place.charges[round].fetch_add(charges, std::memory_order_relaxed);
    place.tokens[round].fetch_add(tokens, std::memory_order_relaxed);
}

DebtCounts::Seen DebtCounts::seen(std::uint64_t shard) noexcept {
    const Place& place = count_of(shard);
    const std::size_t before = (round_.load(std::memory_order_relaxed) + 1) % 2;
    return {place.charges[before].load(std::memory_order_relaxed),
            place.tokens[before].load(std::memory_order_relaxed)};
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
