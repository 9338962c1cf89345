#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "core/table/eviction.h"
#include "core/table/journals.h"
#include "core/table/keyed_hash.h"
#include "core/table/layout_mark.h"
#include "core/table/lock_wait.h"
#include "core/table/owned_lock.h"
#include "core/table/set.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// The memory of a table as one process sees it: a header, the journals, and two halves of sets, left and
/// right. It also says how a process takes sets and slots from their owners, living or dead.
///
/// To avoid deadlocks, the owner of a set's lock may wait for holders of slots, but never the other way
/// round, and left sets are locked before right ones.
template <typename Record>
class RecordMemory {
public:
    using Set = RecordSet<Record>;

    static constexpr std::size_t alignment = LayoutMark::alignment;

    static std::size_t bytes_for(std::size_t records) noexcept;

    explicit RecordMemory(const LockUser& user) noexcept : user_(user), journals_(user) {}

    void set_user(const LockUser& user) noexcept {
        user_ = user;
        if (header_ != nullptr) {
            claim_journal();
        }
    }

    [[nodiscard]] bool create(void* memory, std::size_t size, const HashKey& key) noexcept;
    [[nodiscard]] bool attach(void* memory, std::size_t size) noexcept;

    const HashKey& key() const noexcept { return header_->key; }

    std::size_t sets() const noexcept { return half_ * 2; }
    Set& set(std::size_t index) noexcept { return sets_[index]; }
    const Set& set(std::size_t index) const noexcept { return sets_[index]; }

    /// The two sets that may hold this id: the left one and the right one.
    std::pair<std::size_t, std::size_t> sets_of(const WindowId& id) const noexcept {
        return {scale(static_cast<std::uint32_t>(id.high), half_),
                half_ + scale(static_cast<std::uint32_t>(id.high >> 32), half_)};
    }

    RecordJournals<Record>& journals() noexcept { return journals_; }

    /// Null: nobody is told.
    void set_room_listener(RoomListener* listener) noexcept { room_listener_ = listener; }
    RoomListener* room_listener() const noexcept { return room_listener_; }

    SlotNumber number_of(const Set& set, unsigned slot) const noexcept {
        return 1 + static_cast<SlotNumber>(&set - sets_) * Set::slots + slot;
    }

    /// Locks the set; if the lock's owner has died, completes what that had begun.
    void lock(HeldLock& held, Set& set) noexcept {
        if (held.acquire(set.lock(), user_)) {
            recover(set);
        }
    }

    /// Takes the slot from its holder, waiting for that if it lives: the slot's holder is then `set_holder`.
    /// The caller has the set's lock.
    void take_slot(Set& set, unsigned slot) noexcept;

private:
    struct alignas(alignment) Header {
        std::atomic<std::uint64_t> ready;  // `layout`, once everything else is written
        std::uint64_t size;
        HashKey key;
    };
    static_assert(sizeof(Header) == alignment, "sets begin on a cache line");

    /// Differs for each layout of the memory, so that attach() refuses a table of another version.
    static constexpr std::uint64_t layout = 0x77696e646f777363 ^ (std::uint64_t{sizeof(Record)} << 8);

    /// How many bytes lie before the sets.
    static constexpr std::size_t fixed = sizeof(Header) + RecordJournals<Record>::bytes;

    static constexpr std::size_t max_half = std::numeric_limits<std::uint32_t>::max();

    /// Spreads 32 random bits evenly over `count` values.
    static std::size_t scale(std::uint32_t bits, std::size_t count) noexcept {
        return static_cast<std::size_t>((std::uint64_t{bits} * count) >> 32);
    }

    bool take_up(void* memory, std::size_t size) noexcept;
    void claim_journal() noexcept;
    void recover(Set& set) noexcept;
    void take_over(SlotNumber number) noexcept;

    RoomListener* room_listener_ = nullptr;
    LockUser user_;
    RecordJournals<Record> journals_;
    const Header* header_ = nullptr;
    Set* sets_ = nullptr;
    std::size_t half_ = 0;
};

template <typename Record>
std::size_t RecordMemory<Record>::bytes_for(std::size_t records) noexcept {
    const std::size_t pair = std::size_t{Set::capacity} * 2;
    const std::size_t half = std::max<std::size_t>(1, (records + pair - 1) / pair);
    return fixed + half * 2 * sizeof(Set);
}

template <typename Record>
bool RecordMemory<Record>::take_up(void* memory, std::size_t size) noexcept {
    if (!LayoutMark::fits(memory, size, bytes_for(1))) {
        return false;
    }
    header_ = static_cast<const Header*>(memory);
    journals_.take_up(static_cast<char*>(memory) + sizeof(Header));
    sets_ = reinterpret_cast<Set*>(static_cast<char*>(memory) + fixed);
    half_ = std::min((size - fixed) / (2 * sizeof(Set)), max_half);
    return true;
}

template <typename Record>
bool RecordMemory<Record>::create(void* memory, std::size_t size, const HashKey& key) noexcept {
    if (!take_up(memory, size)) {
        return false;
    }
    auto* header = new (memory) Header{{0}, size, key};
    header->ready.store(layout, std::memory_order_release);
    claim_journal();
    return true;
}

template <typename Record>
bool RecordMemory<Record>::attach(void* memory, std::size_t size) noexcept {
    if (!take_up(memory, size)) {
        return false;
    }
    if (header_->ready.load(std::memory_order_acquire) == layout && header_->size == size) {
        claim_journal();
        return true;
    }
    header_ = nullptr;
    sets_ = nullptr;
    half_ = 0;
    return false;
}

template <typename Record>
void RecordMemory<Record>::take_slot(Set& set, unsigned slot) noexcept {
    RecordSlot<Record>& at = set.slot(slot);
    for (LockWait wait;;) {
        std::uint64_t found = at.lock();
        const Holder holder = at.holder_of(found);
        if (holder == set_holder) {
            return;
        }
        if (holder == nobody) {
            if (at.replace(found, set_holder)) {
                return;
            }
        } else if (wait.again() && !journals_.lives(holder) && at.replace(found, set_holder)) {
            journals_.finish(at, number_of(set, slot));
            return;
        }
    }
}

/// Completes what the dead owner of this set's lock was writing into slots that it had taken. Their holder
/// stays `set_holder`: the next process that wants one takes it under the set's lock, and then releases it.
template <typename Record>
void RecordMemory<Record>::recover(Set& set) noexcept {
    for (unsigned slot = 0; slot < Set::slots; ++slot) {
        RecordSlot<Record>& at = set.slot(slot);
        if (at.holder_of(at.lock()) == set_holder) {
            journals_.finish(at, number_of(set, slot));
        }
    }
}

/// First takes over the slots that dead processes hold: otherwise their journals would stay out of use until
/// some process happens to want the same records.
template <typename Record>
void RecordMemory<Record>::claim_journal() noexcept {
    journals_.set_user(user_);
    if (OwnedLock::word_of(user_.self) != 0) {
        journals_.with_orphans([this](SlotNumber number) { take_over(number); });
        journals_.claim();
    }
}

template <typename Record>
void RecordMemory<Record>::take_over(SlotNumber number) noexcept {
    const std::size_t index = (number - 1) / Set::slots;
    if (index >= sets()) {
        return;
    }
    const auto slot = static_cast<unsigned>((number - 1) % Set::slots);
    HeldLock held;
    lock(held, sets_[index]);
    take_slot(sets_[index], slot);
    journals_.finish(sets_[index].slot(slot), number);
    sets_[index].slot(slot).give_to(nobody);
}

}  // namespace rate_limit
