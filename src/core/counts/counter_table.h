#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/counts/named_places.h"
#include "core/table/layout_mark.h"
#include "core/table/owned_lock.h"

namespace rate_limit {

/// Counters in memory that processes share and that outlives them, in groups of eight, each group under a
/// name. A process adds in a slot of its own, so that processes do not wait for one another's cache lines; a
/// count is the sum over all slots, also those of processes that have died. A new process takes the slot of a
/// dead one and goes on from what is there. Processes that find no slot free share the first.
///
/// The groups are NamedPlaces: a name that is configured again goes on from its old counts, while its group
/// is not another's; a new name begins at 0. A name without a group is counted in the group of another name,
/// which its user chooses.
///
/// Each group also counts misses, in all and in a row over all processes, which write them together. Where
/// there are none, nothing is written.
class CounterTable {
public:
    /// More misses in a row are not counted.
    static constexpr std::uint32_t most_in_a_row = 100;

    /// Eight counters: a cache line of each slot.
    static constexpr std::size_t group_size = 8;

    static constexpr std::size_t alignment = LayoutMark::alignment;

    /// Besides the one that is shared.
    static constexpr std::size_t most_slots = 64;

    /// A digest of what is counted.
    class Name {
    public:
        constexpr explicit Name(std::uint64_t digest) noexcept : value_(digest | 2) {}
        constexpr std::uint64_t value() const noexcept { return value_; }  ///< 2 or more

    private:
        std::uint64_t value_;
    };

    class Group;
    class Naming;

    /// Memory that is all zero at first, for this many workers and as many leaving ones; each process calls
    /// this as `user`, with the same sizes. False: it is too small.
    [[nodiscard]] bool use(void* memory, std::size_t size, const LockUser& user,
                           std::size_t workers) noexcept;

    std::size_t groups() const noexcept { return places_.count(); }
    std::size_t slots() const noexcept { return slots_; }

    /// True once in `interval` for one process, which then logs the counts. Times are milliseconds of a clock
    /// that all processes share, modulo 2^32.
    bool take_turn(std::uint32_t now, std::uint32_t interval) noexcept;

    /// How long until the next turn; 0: it is time.
    std::uint32_t pause(std::uint32_t now, std::uint32_t interval) const noexcept;

private:
    using Counts = std::array<std::atomic<std::uint64_t>, group_size>;

    struct alignas(alignment) Header {
        std::atomic<std::uint32_t> generation;  // how many configurations have brought names
        OwnedLock lock;                         // held by the process that brings names
        std::atomic<std::uint32_t> turn;        // when take_turn() was last true
    };

    /// The part of a group that all slots share.
    struct Place {
        std::atomic<std::uint64_t> name;             // 0: free
        std::atomic<std::uint64_t> told;             // the last digest of Group::tell()
        std::atomic<std::uint64_t> misses;           // since the name has the place
        std::atomic<std::uint32_t> misses_in_a_row;  // up to most_in_a_row, and one more for each process
        std::atomic<std::uint32_t> generation;       // the last that had the name
        Counts base;                                 // counts under the names that had the place before
    };

    struct alignas(alignment) Cells {
        Counts counts;
    };

    static constexpr std::size_t none = NamedPlaces<Place>::none;
    static constexpr std::size_t shared_slot = 0;
    static constexpr std::size_t no_slot = none;

    static std::uint32_t pause_after(std::uint32_t last, std::uint32_t now, std::uint32_t interval) noexcept;
    void empty(std::size_t place) noexcept;
    std::uint64_t sum(std::size_t place, std::size_t counter) const noexcept;

    /// Raises a number that only this process writes.
    static void raise(std::atomic<std::uint64_t>& number, std::uint64_t more) noexcept {
        number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }
    void add(std::size_t place, std::size_t counter, std::uint64_t more) noexcept;

    LockUser user_;
    Header* header_ = nullptr;
    std::atomic<std::uint64_t>* owners_ = nullptr;  // each slot's process, as OwnedLock::word_of()
    NamedPlaces<Place> places_;
    Cells* cells_ = nullptr;  // slot after slot, a line for each place
    std::size_t slots_ = 0;
    std::size_t slot_ = no_slot;  // this process's, claimed with its first count
    Cells* own_ = nullptr;        // the cells of that slot; null where others count there too
};

/// Brings names: one process at a time. Others wait for this object's end.
class CounterTable::Naming {
public:
    explicit Naming(CounterTable& table) noexcept : table_(table) {
        lock_.acquire(table.header_->lock, table.user_);
    }

    // These are NamedPlaces' own. A worker may add a name alone, too, while a configuration is at work.
    void begin() noexcept { table_.places_.begin(); }
    void keep(Name name) noexcept { table_.places_.keep(name.value()); }
    void drop(Name name) noexcept { table_.places_.drop(name.value()); }
    bool add(Name name) noexcept {
        return table_.places_.add(name.value(), [this](std::size_t place) { table_.empty(place); });
    }

private:
    CounterTable& table_;
    HeldLock lock_;
};

/// One group as a process uses it. The table outlives it.
class CounterTable::Group {
public:
    /// Counts for `otherwise` where `name` has no group, or loses it.
    Group(CounterTable& table, Name name, Name otherwise) noexcept;

    /// False: this counts for `otherwise`.
    bool has_place() const noexcept {
        return found_as_ != nullptr && found_as_->load(std::memory_order_acquire) == name_.value();
    }

    void add(std::size_t counter, std::uint64_t more) noexcept {
        if (Counts* own = own_counts(); own != nullptr) {
            raise((*own)[counter], more);
        } else {
            add_elsewhere(counter, more);
        }
    }

    /// Adds one to each of two counters.
    void add_both(std::size_t one, std::size_t other) noexcept {
        if (Counts* own = own_counts(); own != nullptr) {
            raise((*own)[one], 1);
            raise((*own)[other], 1);
        } else {
            add_elsewhere(one, 1);
            add_elsewhere(other, 1);
        }
    }

    /// The sum of all processes since the memory was made, or since the name was first seen.
    std::uint64_t count(std::size_t counter) const noexcept;

    /// Counts a miss. `again`: the row counts it already, by another miss of the same request.
    void miss(bool again) noexcept;

    /// Ends the row of misses.
    void hit() noexcept {
        if (has_place()) {
            std::atomic<std::uint32_t>& in_a_row = table_->places_[place_].misses_in_a_row;
            if (in_a_row.load(std::memory_order_relaxed) != 0) {
                in_a_row.store(0, std::memory_order_relaxed);
            }
        }
    }

    /// Misses of all processes since the name has its place.
    std::uint64_t misses() const noexcept;

    /// Up to most_in_a_row; 0 where has_place() is false.
    std::uint32_t misses_in_a_row() const noexcept;

    /// Notes what is told about the counts, as a digest, for all processes. False: it is what was told last.
    /// Before anything has been, that is 0.
    bool tell(std::uint64_t digest) noexcept;

private:
    std::size_t place() const noexcept { return has_place() ? place_ : otherwise_; }
    Counts* own_counts() const noexcept {
        return table_->own_ != nullptr && has_place() ? &table_->own_[place_].counts : nullptr;
    }
    void add_elsewhere(std::size_t counter, std::uint64_t more) noexcept;

    CounterTable* table_;
    Name name_;
    std::size_t place_;
    std::size_t otherwise_;
    const std::atomic<std::uint64_t>* found_as_;  // the name of the place; null: there was none
};

}  // namespace rate_limit
