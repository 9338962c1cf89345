#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/table/owned_lock.h"

namespace rate_limit {

/// Which workers of one machine live, in memory that they share, so that what a killed worker counted can be
/// taken out again. A worker takes a place, counts under its number, and leaves the place as it ends; others
/// find that it has died. All zero bytes are places of nobody.
///
/// A worker may be killed at any instruction. A place that is given up goes from its owner to `nobody_yet`,
/// then the deaths are counted, then it is free: a worker that finds it in between goes on from there. So a
/// worker that sees a new number of deaths sees as well whose places are given up.
class WorkerPlaces {
public:
    static constexpr std::size_t alignment = 64;

    /// Bytes that so many places take.
    static constexpr std::size_t bytes_for(std::size_t places) noexcept {
        return sizeof(Header) + places * sizeof(Place);
    }

    /// How many places so many bytes take.
    static constexpr std::size_t places_in(std::size_t bytes) noexcept {
        return bytes < sizeof(Header) ? 0 : (bytes - sizeof(Header)) / sizeof(Place);
    }

    /// Memory that is all zero at first, aligned; each process calls this with the same number. False: there
    /// is no room for a place.
    [[nodiscard]] bool use(void* memory, std::size_t bytes) noexcept;

    /// How many processes can have a place at the same time.
    std::size_t most() const noexcept { return most_; }

    /// Takes a place for this process, after it has given up those of the dead. Empty if all are taken.
    std::optional<std::size_t> take(const LockUser& user) noexcept;

    /// The process gives up its place; what it still counts there is void.
    void leave(std::size_t place) noexcept;

    /// Gives up the places of processes that have died. Asks the system about each that has a place. True if
    /// there were any.
    bool find_dead(IsAlive is_alive) noexcept;

    /// True for one process in `period` milliseconds, by a clock that all have: it looks for the dead.
    bool take_turn(std::uint32_t ticks, std::uint32_t period) noexcept;

    /// How many places were given up, modulo 2^20, as a record has it.
    std::uint32_t deaths() const noexcept {
        return header_->deaths.load(std::memory_order_acquire) & ((1U << 20) - 1);
    }

    /// The owner's word; no process has that of a free place.
    std::uint64_t owner_of(std::size_t place) const noexcept {
        return places_[place].owner.load(std::memory_order_acquire);
    }

    /// One more than the highest place that was ever taken.
    std::size_t end() const noexcept { return header_->end.load(std::memory_order_acquire); }

    /// True for one process after each number of deaths: it corrects what the dead have left behind. If it
    /// dies over that, another one finds a new number.
    bool take_correction() noexcept;

    /// The owner of a place is about to change its count and the sum for this key, not 0; 0: both are
    /// changed.
    void set_changing(std::size_t place, std::uint64_t key) noexcept {
        places_[place].changing.store(key, std::memory_order_release);
    }

    /// Whether the owner of a place is about to change this key. One that died in the middle of it is not.
    bool is_changing(std::size_t place, std::uint64_t key) const noexcept {
        const std::uint64_t owner = owner_of(place);
        return owner != 0 && owner != nobody_yet &&
               places_[place].changing.load(std::memory_order_acquire) == key;
    }

private:
    static constexpr std::uint64_t nobody_yet = ~std::uint64_t{0};

    struct alignas(alignment) Header {
        std::atomic<std::uint32_t> deaths;
        std::atomic<std::uint32_t> end;
        std::atomic<std::uint32_t>
            corrected;  // the number of deaths after which take_correction() was last true
        std::atomic<std::uint32_t> looked;  // when take_turn() was last true
    };

    struct alignas(alignment) Place {
        std::atomic<std::uint64_t> owner{0};
        std::atomic<std::uint64_t> changing{0};
    };

    void give_up(Place& place, std::uint64_t owner) noexcept;

    Header* header_ = nullptr;
    Place* places_ = nullptr;
    std::size_t most_ = 0;
};

}  // namespace rate_limit
