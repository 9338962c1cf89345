#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// For how many windows charges wait, by shard, in memory that processes share: who has nothing to send need
/// not search for it. Counted before they are put into the table and after they are taken out: never too few.
/// (A worker killed between the two leaves one too many.)
class DebtCounts {
public:
    /// More shards than this, of all configurations that there have been, share one more count.
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
