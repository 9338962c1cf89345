#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// For each shard, for how many windows charges wait, in shared memory: a worker with nothing to send need
/// not search. A window is counted before its charges enter the table and until they have left it, so the
/// count is never too low. (A worker killed between the two leaves it one too high.)
class DebtCounts {
public:
    /// If there are more shards, over all configurations so far, the rest share one count.
    static constexpr std::size_t most_shards = 127;

    struct Place {
        std::atomic<std::uint64_t> shard;  // 0: nobody's
        std::atomic<std::uint64_t> windows;
    };

    /// Memory that is all zero counts none.
    struct Memory {
        std::array<Place, most_shards + 1> places;
    };

    /// The memory outlives this.
    void take_up(Memory& memory) noexcept { memory_ = &memory; }

    void add(std::uint64_t shard) noexcept { count_of(shard).windows.fetch_add(1); }

    void remove(std::uint64_t shard) noexcept;

    std::uint64_t of(std::uint64_t shard) const noexcept { return count_of(shard).windows.load(); }

private:
    Place& count_of(std::uint64_t shard) const noexcept;

    Memory* memory_ = nullptr;
};

}  // namespace rate_limit
