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

/// One set of a table: slots, and one word whose bits say which slots are valid. put() writes a record into a
/// free slot; then one exchange of the word makes that slot valid and the slot that it replaces free. A
/// process that dies at any instruction therefore leaves the old record or the new one. For this one slot
/// always stays free. Only a process that has a journal may write over a valid slot.
///
/// The word, the tags and the set's lock share one cache line. The lock is needed only to put records in and
/// to visit all of them: a process that changes a record reads that line, and writes only to the record's
/// own. All zero bytes are an empty set.
///
/// A Record is plain data in whole cache lines, with members `id` and `reset`.
template <typename Record>
class alignas(64) RecordSet {
public:
    using Slot = RecordSlot<Record>;

    static constexpr unsigned slots = 24;            ///< the number of tags that fit beside lock and word
    static constexpr unsigned capacity = slots - 1;  ///< most records at a time
    static constexpr unsigned no_slot = slots;

    OwnedLock& lock() noexcept { return lock_; }

    Slot& slot(unsigned slot) noexcept { return slots_[slot]; }
    const Slot& slot(unsigned slot) const noexcept { return slots_[slot]; }

    /// The slot where put() puts this id's record if it is free, else the next free one after it. A search
    /// for the id begins here.
    static unsigned home_of(const WindowId& id) noexcept {
        constexpr unsigned bits = 16;
        const std::uint64_t part = (id.low >> (Slot::low_bits - bits)) & ((1U << bits) - 1);
        return static_cast<unsigned>((part * slots) >> bits);
    }

    /// The results of the functions down to count_open() may be outdated at once, except for slots that the
    /// caller holds.

    /// The first slot with this id's tag, where its record probably is, or no_slot.
    unsigned guess(const WindowId& id) const noexcept;

    bool seems_empty() const noexcept { return valid() == 0; }

    bool is_valid(unsigned slot) const noexcept { return ((valid() >> slot) & 1) != 0; }

    unsigned size() const noexcept { return static_cast<unsigned>(__builtin_popcountll(valid())); }

    /// How many of its records have a window that has not ended.
    unsigned count_open(Millis now) const noexcept;

    /// The functions from here to drop() are for slots that the caller holds.

    /// Whether the slot has this id's record.
    [[gnu::always_inline]] bool has(unsigned slot, const WindowId& id) const noexcept {
        return is_valid(slot) && is_of(slot, id);
    }

    Record at(unsigned slot) const noexcept { return slots_[slot].load(tag_at(slot)); }

    /// The id of the slot's record.
    WindowId id_at(unsigned slot) const noexcept { return slots_[slot].id_of(tag_at(slot)); }

    /// Makes the slot free; the caller still holds it.
    void drop(unsigned slot) noexcept { valid_.fetch_and(~bit(slot), std::memory_order_acq_rel); }

    /// The functions below are for the owner of the set's lock.

    /// The slot that has this id's record, or no_slot.
    unsigned find(const WindowId& id) const noexcept;

    /// The free slot into which the caller should put this id's record.
    unsigned free_slot(const WindowId& id) const noexcept;

    /// Puts a record into a free slot that the caller holds, and releases that slot. `replaced` is the slot
    /// of the record that it replaces: the caller holds it, and still holds it afterwards. With no_slot it
    /// replaces none; there must be room then, size() < capacity.
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

    /// Calls visit(slot) for all valid slots with this id's tag, and sometimes for others, until it returns
    /// true.
    template <typename Visit>
    void with_tag(const WindowId& id, Visit&& visit) const noexcept;

    /// Acquires all that was written before the word was exchanged: also what a process wrote that died
    /// before it could release the set's lock.
    std::uint64_t valid() const noexcept { return valid_.load(std::memory_order_acquire); }

    OwnedLock lock_;
    std::atomic<std::uint64_t> valid_{0};
    std::array<std::atomic<std::uint64_t>, slots / tags_a_word> tags_{};
    std::array<Slot, slots> slots_;
};

template <typename Record>
template <typename Visit>
[[gnu::always_inline]] inline void RecordSet<Record>::with_tag(const WindowId& id,
                                                               Visit&& visit) const noexcept {
    constexpr std::uint64_t ones = 0x0001000100010001;
    constexpr std::uint64_t tops = ones << (Slot::tag_bits - 1);
    const std::uint64_t valid = this->valid();
    const std::uint64_t wanted = ones * Slot::tag_of(id);
    unsigned index = home_of(id) / tags_a_word;
    for (std::size_t left = tags_.size(); left != 0; --left) {
        const unsigned first = index * tags_a_word;
        // Sets the top bit of each group of 16 bits that is zero, and perhaps of some groups above such a
        // one.
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
[[gnu::always_inline]] inline unsigned RecordSet<Record>::guess(const WindowId& id) const noexcept {
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
unsigned RecordSet<Record>::count_open(Millis now) const noexcept {
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

    // From here on a process that looks for this id can take the slot, and finds that it is not valid yet.
    slots_[slot].give_to(nobody);

    // This one instruction changes what the set holds. A process that sees the new bit sees the record and
    // the tag, too.
    const std::uint64_t freed = replaced == no_slot ? 0 : bit(replaced);
    valid_.fetch_xor(bit(slot) | freed, std::memory_order_acq_rel);
}

}  // namespace rate_limit
