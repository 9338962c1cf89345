#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/owned_lock.h"
#include "core/window_record.h"

namespace rate_limit {

/// One set of the window table: slots of records, of which the valid ones are named by one word. No slot that
/// is valid is ever written. A change goes into a free slot, and one store of the word makes it valid and the
/// slot it replaces free: whoever dies, at whatever instruction, leaves the old record or the new one. So one
/// slot always stays free.
///
/// Lock, word and tags share one cache line, and each record has one of its own: processes that work on
/// different sets write no line in common. All zero bytes are an empty set.
class alignas(64) WindowSet {
public:
    static constexpr unsigned slots = 24;            ///< as many as tags fit beside lock and word
    static constexpr unsigned capacity = slots - 1;  ///< windows at a time
    static constexpr unsigned no_slot = slots;

    OwnedLock& lock() noexcept { return lock_; }

    /// Whether a look under the lock is worth it. Needs no lock, and may err both ways while others write.
    bool may_hold(const WindowId& id) const noexcept;

    /// All below: under the lock.

    /// The slot of this id, or no_slot.
    unsigned find(const WindowId& id) const noexcept;

    const WindowRecord& at(unsigned slot) const noexcept { return records_.at(slot); }

    bool is_valid(unsigned slot) const noexcept { return ((valid() >> slot) & 1) != 0; }

    unsigned size() const noexcept { return static_cast<unsigned>(__builtin_popcountll(valid())); }

    unsigned open(Millis now) const noexcept;

    /// Puts a record in the place of another one or, with no_slot, beside them: then size() < capacity.
    void put(const WindowRecord& record, unsigned replaced) noexcept;

    void drop(unsigned slot) noexcept;

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
    std::array<WindowRecord, slots> records_;
};
static_assert(sizeof(WindowSet) == std::size_t{64} * (1 + WindowSet::slots),
              "one line, then one for each record");
static_assert(alignof(WindowSet) == 64, "a cache line");

}  // namespace rate_limit
