#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/table/owned_lock.h"
#include "core/table/slot.h"

namespace rate_limit {

/// The number of a slot in its table; 0: none.
using SlotNumber = std::uint64_t;

/// The journals of a table, in shared memory: in its journal a process writes what it is about to do with
/// which slot, so that others can finish that if it dies (see table.h). While the owner lives, nobody else
/// writes to its journal, so its cache lines stay with the owner.
///
/// Only a process that has a journal may hold a slot by itself: the name that it leaves in the slot says
/// which journal it has, and so others find out whether the holder is dead. A journal whose owner died
/// holding a slot is therefore given to no other process until one has taken over that slot.
///
/// A process that finds all journals taken has none.
template <typename Record>
class RecordJournals {
    struct alignas(64) Journal {
        std::atomic<std::uint64_t> owner{0};   // the process, as OwnedLock::word_of(); 0: nobody
        std::atomic<std::uint64_t> claims{0};  // how often a process has claimed this journal
        std::atomic<SlotNumber> held{0};       // the slot that the owner holds or is about to take
        std::atomic<SlotNumber> written{0};    // the slot that `record` goes to, while it is copied there
        Record record;                         // the record that the owner copies into that slot
    };

public:
    static constexpr std::size_t bytes = Record::journals * sizeof(Journal);

    explicit RecordJournals(const LockUser& user) noexcept : user_(user) {}

    void take_up(void* memory) noexcept { journals_ = static_cast<Journal*>(memory); }

    /// Says which process uses this object from now on. It has no journal until it calls claim().
    void set_user(const LockUser& user) noexcept {
        user_ = user;
        own_ = nullptr;
    }

    /// Claims a journal for this process, unless all are taken: one that nobody has, or whose owner died
    /// without holding a slot. A process has one journal in a table, however many views of the table it has.
    void claim() noexcept;

    /// Gives up this process's journal. True if no other living process has one; the process with the number
    /// `besides` does not count.
    bool leave(std::uint32_t besides) noexcept;

    /// Whether this process has a journal.
    bool has_one() const noexcept { return own_ != nullptr; }

    /// The functions from here to overwrite() need a journal.

    /// The name under which this process holds a slot.
    Holder holder() const noexcept { return holder_; }

    /// Called before this process takes the slot.
    void begin_hold(SlotNumber slot) noexcept { own_->held.store(slot, std::memory_order_relaxed); }

    /// Called after this process has released the slot.
    void end_hold() noexcept { own_->held.store(0, std::memory_order_release); }

    /// Replaces the record in a slot that this process holds. Once `written` says so, the change counts as
    /// made: if this process dies, the next holder copies the record from the journal. The writes need to
    /// keep their order in this process only: others read them after its death, when all of them can be seen.
    void overwrite(RecordSlot<Record>& slot, SlotNumber number, const Record& record) noexcept {
        own_->record = record;
        own_->written.store(number, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        slot.store(record);
        own_->written.store(0, std::memory_order_release);
    }

    /// The functions below work without a journal, too.

    /// Whether the process that holds slots under this name may still release them.
    bool lives(Holder holder) const noexcept;

    /// Completes what dead processes had begun with this slot. The caller has taken it over from them.
    void finish(RecordSlot<Record>& slot, SlotNumber number) noexcept;

    /// Calls visit(SlotNumber) for each slot that a dead process may still hold.
    template <typename Visit>
    void with_orphans(Visit&& visit) noexcept;

private:
    /// A holder's name is the number of its journal and, above that, how often the journal was claimed,
    /// modulo 256. So a process that found a holder dead cannot take a slot from another process that has
    /// claimed the same journal meanwhile: that one's name differs.
    static constexpr unsigned index_bits = 8;
    static constexpr Holder first = nobody + 1;
    static_assert(Record::journals + first <= std::size_t{1} << index_bits, "a name has 8 bits for it");

    Journal* begin() const noexcept { return journals_; }
    Journal* end() const noexcept { return journals_ + Record::journals; }

    bool is_dead(std::uint64_t owner) const noexcept {
        return owner != 0 && !user_.is_alive(OwnedLock::owner_of(owner));
    }

    void own(Journal& journal) noexcept {
        own_ = &journal;
        const std::uint64_t claims = journal.claims.load(std::memory_order_relaxed);
        holder_ = static_cast<Holder>((claims << index_bits) |
                                      (static_cast<std::uint64_t>(own_ - begin()) + first));
    }

    LockUser user_;
    Journal* journals_ = nullptr;  // Record::journals of them
    Journal* own_ = nullptr;       // this process's; nullptr: it has none
    Holder holder_ = nobody;
};

template <typename Record>
void RecordJournals<Record>::claim() noexcept {
    const std::uint64_t self = OwnedLock::word_of(user_.self);
    for (Journal& journal : *this) {
        if (journal.owner.load(std::memory_order_relaxed) == self) {
            own(journal);
            return;
        }
    }
    for (Journal& journal : *this) {
        std::uint64_t owner = journal.owner.load(std::memory_order_acquire);
        // First whether the owner is dead, then what it holds: a dead process takes no slot after that.
        const bool free =
            owner == 0 || (is_dead(owner) && journal.held.load(std::memory_order_acquire) == 0 &&
                           journal.written.load(std::memory_order_acquire) == 0);
        if (free && journal.owner.compare_exchange_strong(owner, self, std::memory_order_acq_rel)) {
            journal.claims.fetch_add(1, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);  // others see the owner before what it holds
            own(journal);
            return;
        }
    }
}

template <typename Record>
bool RecordJournals<Record>::leave(std::uint32_t besides) noexcept {
    if (own_ != nullptr) {
        own_->owner.store(0, std::memory_order_release);
        own_ = nullptr;
    }
    // One at least of two processes that leave at once has to see that the other has left.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return std::none_of(begin(), end(), [&](const Journal& journal) {
        const std::uint64_t owner = journal.owner.load(std::memory_order_acquire);
        return owner != 0 && OwnedLock::owner_of(owner).pid != besides && !is_dead(owner);
    });
}

template <typename Record>
bool RecordJournals<Record>::lives(Holder holder) const noexcept {
    const std::size_t index = (holder & ((1U << index_bits) - 1)) - first;
    return index >= Record::journals || !is_dead(journals_[index].owner.load(std::memory_order_acquire));
}

template <typename Record>
void RecordJournals<Record>::finish(RecordSlot<Record>& slot, SlotNumber number) noexcept {
    for (Journal& journal : *this) {
        // Only a slot's holder writes to it, and that is the caller now: a journal that says the slot is
        // being written belongs to a dead process.
        if (journal.written.load(std::memory_order_acquire) == number) {
            slot.store(journal.record);
            journal.written.store(0, std::memory_order_release);
        }
        // A living owner that notes this slot waits for it: its note stays. A dead one's note is cleared, but
        // only if it still names this slot: the owner may have noted another one before it died.
        const auto notes_slot = [&] { return journal.held.load(std::memory_order_acquire) == number; };
        const std::uint64_t owner = journal.owner.load(std::memory_order_acquire);
        if (notes_slot() && is_dead(owner) && notes_slot() &&
            journal.owner.load(std::memory_order_acquire) == owner) {
            journal.held.store(0, std::memory_order_release);
        }
    }
}

template <typename Record>
template <typename Visit>
void RecordJournals<Record>::with_orphans(Visit&& visit) noexcept {
    for (Journal& journal : *this) {
        const SlotNumber held = journal.held.load(std::memory_order_acquire);
        const SlotNumber written = journal.written.load(std::memory_order_acquire);
        const SlotNumber number = held != 0 ? held : written;
        if (number != 0 && is_dead(journal.owner.load(std::memory_order_acquire))) {
            visit(number);
        }
    }
}

}  // namespace rate_limit
