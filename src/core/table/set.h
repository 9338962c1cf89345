#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/limit/window.h"
#include "core/table/owned_lock.h"
#include "core/table/slot.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// One set of a table of records: slots, of which the valid ones are named by one word. What put() is given
/// goes into a free slot, and one exchange of the word makes it valid and the slot it replaces free: whoever
/// dies, at whatever instruction, leaves the old record or the new one. So one slot always stays free. Only
/// who has a journal may write over a valid slot.
///
/// Word and tags share one cache line with the set's lock, which is needed only to put records in and to see
/// all of them: who changes a record that is here reads that line and writes but the record's own. All zero
/// bytes are an empty set.
///
/// A Record is plain data in whole cache lines, with members `id` and `reset`.
template <typename Record>
class alignas(64) RecordSet {
public:
    using Slot = RecordSlot<Record>;

    static constexpr unsigned slots = 24;            ///< as many as tags fit beside lock and word
    static constexpr unsigned capacity = slots - 1;  ///< windows at a time
    static constexpr unsigned no_slot = slots;

    OwnedLock& lock() noexcept { return lock_; }

    Slot& slot(unsigned slot) noexcept { return slots_[slot]; }
    const Slot& slot(unsigned slot) const noexcept { return slots_[slot]; }

    /// Where this id's record is put, or next to it, if there is room: who wants it begins to look there.
    static unsigned home_of(const WindowId& id) noexcept {
        constexpr unsigned bits = 16;
        const std::uint64_t part = (id.low >> (Slot::low_bits - bits)) & ((1U << bits) - 1);
        return static_cast<unsigned>((part * slots) >> bits);
    }

    /// What these tell may change at once, except about slots that the caller holds.

    /// Where this id's record seems to be, or no_slot.
    unsigned guess(const WindowId& id) const noexcept;

    bool seems_empty() const noexcept { return valid() == 0; }

    bool is_valid(unsigned slot) const noexcept { return ((valid() >> slot) & 1) != 0; }

    unsigned size() const noexcept { return static_cast<unsigned>(__builtin_popcountll(valid())); }

    unsigned open(Millis now) const noexcept;

    /// Whether a slot that the caller holds has this id's record.
    bool has(unsigned slot, const WindowId& id) const noexcept { return is_valid(slot) && is_of(slot, id); }

    /// The record in a slot that the caller holds.
    Record at(unsigned slot) const noexcept { return slots_[slot].load(tag_at(slot)); }

    /// Its id.
    WindowId id_at(unsigned slot) const noexcept { return slots_[slot].id_of(tag_at(slot)); }

    /// Makes a slot free that the caller holds; it stays held.
    void drop(unsigned slot) noexcept { valid_.fetch_and(~bit(slot), std::memory_order_acq_rel); }

    /// All below: under the lock.

    /// The slot of this id, or no_slot.
    unsigned find(const WindowId& id) const noexcept;

    /// Where put() puts this id's record.
    unsigned free_slot(const WindowId& id) const noexcept;

    /// Puts a record into a free slot that the caller holds, and lets go of it there, in the place of another
    /// one that the caller holds and goes on holding or, with no_slot, beside them: then size() < capacity.
    void put(const Record& record, unsigned slot, unsigned replaced) noexcept;

private:
    static constexpr unsigned tags_a_word = 4;
    static constexpr std::uint64_t all = (std::uint64_t{1} << slots) - 1;

    static constexpr std::uint64_t bit(unsigned slot) noexcept { return std::uint64_t{1} << slot; }

    Tag tag_at(unsigned slot) const noexcept {
        const std::uint64_t word = tags_[slot / tags_a_word].load(std::memory_order_relaxed);
        return static_cast<Tag>(word >> (slot % tags_a_word * Slot::tag_bits));
    }

    bool is_of(unsigned slot, const WindowId& id) const noexcept {
        return tag_at(slot) == Slot::tag_of(id) && slots_[slot].is_of(id);
    }

    /// Calls visit(slot) for the valid slots of this id's tag, and some others, until it returns true.
    template <typename Visit>
    void with_tag(const WindowId& id, Visit&& visit) const noexcept;

    /// Acquires what was written before the word was published, also by an owner that died before it could
    /// give back the lock and so never released it.
    std::uint64_t valid() const noexcept { return valid_.load(std::memory_order_acquire); }

    OwnedLock lock_;
    std::atomic<std::uint64_t> valid_{0};
    std::array<std::atomic<std::uint64_t>, slots / tags_a_word> tags_{};
    std::array<Slot, slots> slots_;
};

template <typename Record>
template <typename Visit>
inline void RecordSet<Record>::with_tag(const WindowId& id, Visit&& visit) const noexcept {
    constexpr std::uint64_t ones = 0x0001000100010001;
    constexpr std::uint64_t tops = ones << (Slot::tag_bits - 1);
    const std::uint64_t valid = this->valid();
    const std::uint64_t wanted = ones * Slot::tag_of(id);
    unsigned index = home_of(id) / tags_a_word;
    for (std::size_t left = tags_.size(); left != 0; --left) {
        const unsigned first = index * tags_a_word;
        // The top bit of each 16 that are zero, and perhaps of some above them.
        const std::uint64_t differ = tags_[index].load(std::memory_order_relaxed) ^ wanted;
        std::uint64_t equal = (differ - ones) & ~differ & tops;
        for (; equal != 0; equal &= equal - 1) {
            const unsigned slot = first + static_cast<unsigned>(__builtin_ctzll(equal)) / Slot::tag_bits;
            if ((valid & bit(slot)) != 0 && visit(slot)) {
                return;
            }
        }
        index = index + 1 == tags_.size() ? 0 : index + 1;
    }
}

template <typename Record>
inline unsigned RecordSet<Record>::guess(const WindowId& id) const noexcept {
    unsigned guessed = no_slot;
    with_tag(id, [&](unsigned slot) {
        guessed = slot;
        return true;
    });
    return guessed;
}

template <typename Record>
unsigned RecordSet<Record>::find(const WindowId& id) const noexcept {
    unsigned found = no_slot;
    with_tag(id, [&](unsigned slot) {
        if (!is_of(slot, id)) {
            return false;
        }
        found = slot;
        return true;
    });
    return found;
}

template <typename Record>
unsigned RecordSet<Record>::open(Millis now) const noexcept {
    unsigned count = 0;
    for (std::uint64_t left = valid(); left != 0; left &= left - 1) {
        if (slots_.at(static_cast<unsigned>(__builtin_ctzll(left))).reset() > now) {
            ++count;
        }
    }
    return count;
}

template <typename Record>
unsigned RecordSet<Record>::free_slot(const WindowId& id) const noexcept {
    const unsigned home = home_of(id);
    const std::uint64_t free = ~valid() & all;
    const std::uint64_t from_home = free & ~(bit(home) - 1);
    return static_cast<unsigned>(__builtin_ctzll(from_home != 0 ? from_home : free));
}

template <typename Record>
void RecordSet<Record>::put(const Record& record, unsigned slot, unsigned replaced) noexcept {
    slots_[slot].store_new(record);

    auto& word = tags_[slot / tags_a_word];
    const unsigned shift = slot % tags_a_word * Slot::tag_bits;
    const std::uint64_t others = word.load(std::memory_order_relaxed) & ~(std::uint64_t{0xffff} << shift);
    word.store(others | (std::uint64_t{Slot::tag_of(record.id)} << shift), std::memory_order_relaxed);

    // Who looks for this id may take it from now on, and finds that it is not valid yet.
    slots_[slot].give_to(nobody);

    // The one instruction that changes what the set holds: nobody sees it without the record and the tag that
    // it makes valid.
    const std::uint64_t freed = replaced == no_slot ? 0 : bit(replaced);
    valid_.fetch_xor(bit(slot) | freed, std::memory_order_acq_rel);
}

}  // namespace rate_limit
