#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/owned_lock.h"
#include "core/window.h"
#include "core/window_id.h"

namespace rate_limit {

/// One set of a table of records: slots, of which the valid ones are named by one word. What put() is given
/// goes into a free slot, and one store of the word makes it valid and the slot it replaces free: whoever
/// dies, at whatever instruction, leaves the old record or the new one. So one slot always stays free. Only
/// who has a journal may write over a valid slot.
///
/// Lock, word and tags share one cache line, and each record has lines of its own: processes that work on
/// different sets write no line in common. All zero bytes are an empty set.
///
/// A Record is plain data in whole cache lines, with members `id` and `reset`.
template <typename Record>
class alignas(64) RecordSet {
public:
    static constexpr unsigned slots = 24;            ///< as many as tags fit beside lock and word
    static constexpr unsigned capacity = slots - 1;  ///< windows at a time
    static constexpr unsigned no_slot = slots;

    OwnedLock& lock() noexcept { return lock_; }

    /// The slot to look at first, or no_slot: it seems not to be here. Needs no lock, and may err both ways.
    unsigned guess(const WindowId& id) const noexcept;

    /// Likewise.
    bool seems_empty() const noexcept { return valid() == 0; }

    /// All below: under the lock.

    /// The slot of this id, or no_slot. Looks at the guessed one first, if there is one.
    unsigned find(const WindowId& id, unsigned guessed) const noexcept;

    const Record& at(unsigned slot) const noexcept { return records_.at(slot); }

    bool is_valid(unsigned slot) const noexcept { return ((valid() >> slot) & 1) != 0; }

    unsigned size() const noexcept { return static_cast<unsigned>(__builtin_popcountll(valid())); }

    unsigned open(Millis now) const noexcept;

    /// Puts a record in the place of another one or, with no_slot, beside them: then size() < capacity.
    void put(const Record& record, unsigned replaced) noexcept;

    void drop(unsigned slot) noexcept;

    /// Writes over a valid slot. Whoever dies in it leaves it half written.
    void overwrite(unsigned slot, const Record& record) noexcept { records_.at(slot) = record; }

private:
    using Tag = std::uint16_t;
    static constexpr unsigned tags_a_word = 4;
    static constexpr unsigned tag_bits = 16;

    /// Bits of the id that do not choose the set.
    static Tag tag_of(const WindowId& id) noexcept { return static_cast<Tag>(id.low >> (64 - tag_bits)); }

    static unsigned free_slot(std::uint64_t valid) noexcept {
        return static_cast<unsigned>(__builtin_ctzll(~valid));
    }

    /// Calls visit(slot) for the valid slots of this tag, and some others, until it returns true.
    template <typename Visit>
    bool with_tag(Tag tag, std::uint64_t valid, Visit&& visit) const noexcept;

    /// Acquires what was written before the word was published, also by an owner that died before it could
    /// give back the lock and so never released it.
    std::uint64_t valid() const noexcept { return valid_.load(std::memory_order_acquire); }

    /// The one instruction that changes what the set holds. Release: nobody sees it without the record and
    /// the tag it makes valid. That the slot it frees is not written before it needs no order: the slots
    /// written by this change were free, and the next change comes after this one in the lock's order, or,
    /// when its owner died, after its death, which the system shows only once all that it wrote can be seen.
    void publish(std::uint64_t valid) noexcept { valid_.store(valid, std::memory_order_release); }

    OwnedLock lock_;
    std::atomic<std::uint64_t> valid_{0};
    std::array<std::atomic<std::uint64_t>, slots / tags_a_word> tags_{};
    std::array<Record, slots> records_;

    static_assert(sizeof(Record) % 64 == 0, "whole cache lines");
};

template <typename Record>
template <typename Visit>
bool RecordSet<Record>::with_tag(Tag tag, std::uint64_t valid, Visit&& visit) const noexcept {
    constexpr std::uint64_t ones = 0x0001000100010001;
    constexpr std::uint64_t tops = ones << (tag_bits - 1);
    unsigned first = 0;
    for (const auto& word : tags_) {
        if (valid >> first == 0) {
            break;  // the lowest slots are taken first: mostly one word is all
        }
        // The top bit of each 16 that are zero, and perhaps of some above them.
        const std::uint64_t differ = word.load(std::memory_order_relaxed) ^ (ones * tag);
        std::uint64_t equal = (differ - ones) & ~differ & tops;
        for (; equal != 0; equal &= equal - 1) {
            const unsigned slot = first + static_cast<unsigned>(__builtin_ctzll(equal)) / tag_bits;
            if (((valid >> slot) & 1) != 0 && visit(slot)) {
                return true;
            }
        }
        first += tags_a_word;
    }
    return false;
}

template <typename Record>
unsigned RecordSet<Record>::guess(const WindowId& id) const noexcept {
    unsigned guessed = no_slot;
    with_tag(tag_of(id), valid(), [&](unsigned slot) {
        guessed = slot;
        return true;
    });
    return guessed;
}

template <typename Record>
unsigned RecordSet<Record>::find(const WindowId& id, unsigned guessed) const noexcept {
    if (guessed != no_slot && is_valid(guessed) && at(guessed).id == id) {
        return guessed;
    }
    unsigned found = no_slot;
    with_tag(tag_of(id), valid(), [&](unsigned slot) {
        if (at(slot).id != id) {
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
        if (at(static_cast<unsigned>(__builtin_ctzll(left))).reset > now) {
            ++count;
        }
    }
    return count;
}

template <typename Record>
void RecordSet<Record>::put(const Record& record, unsigned replaced) noexcept {
    const std::uint64_t old = valid();
    const unsigned slot = free_slot(old);
    records_.at(slot) = record;

    auto& word = tags_.at(slot / tags_a_word);
    const unsigned shift = slot % tags_a_word * tag_bits;
    const std::uint64_t others = word.load(std::memory_order_relaxed) & ~(std::uint64_t{0xffff} << shift);
    word.store(others | (std::uint64_t{tag_of(record.id)} << shift), std::memory_order_relaxed);

    const std::uint64_t freed = replaced == no_slot ? 0 : std::uint64_t{1} << replaced;
    publish((old | (std::uint64_t{1} << slot)) & ~freed);
}

template <typename Record>
void RecordSet<Record>::drop(unsigned slot) noexcept {
    publish(valid() & ~(std::uint64_t{1} << slot));
}

}  // namespace rate_limit
