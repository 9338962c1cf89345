#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// For each shard, for how many windows charges wait; lies in memory that all workers share. A worker with
/// nothing to send need not search. A window is counted before its charges enter the table and until they
/// have left it, so the count is never too low. (A worker killed between the two leaves it one too high.)
class DebtCounts {
public:
    /// If there are more shards, over all configurations so far, the rest share one count.
    static constexpr std::size_t most_shards = 63;

    void add(std::uint64_t shard) noexcept { count_of(shard).windows.fetch_add(1); }

    void remove(std::uint64_t shard) noexcept;

    std::uint64_t of(std::uint64_t shard) noexcept { return count_of(shard).windows.load(); }

    /// Sums of a walk over the whole table, round after round: begin_round(), then see() for each record.
    /// Rounds of several processes are one round. What is seen after the next round has begun counts there.
    void begin_round() noexcept;
    void see(std::uint64_t shard, std::uint64_t charges, std::int64_t tokens) noexcept;

    /// Sums of the last whole round.
    struct Seen {
        std::uint64_t charges = 0;  ///< charges and refunds that wait
        std::int64_t tokens = 0;    ///< noted tokens
    };
    Seen seen(std::uint64_t shard) noexcept;

private:
    struct Place {
        std::atomic<std::uint64_t> shard{0};  // 0: nobody's
        std::atomic<std::uint64_t> windows{0};
        std::array<std::atomic<std::uint64_t>, 2> charges{};  // by even and odd rounds
        std::array<std::atomic<std::int64_t>, 2> tokens{};
    };

    Place& count_of(std::uint64_t shard) noexcept;

    std::atomic<std::uint32_t> round_{0};
    std::array<Place, most_shards + 1> places_;
};

}  // namespace rate_limit
