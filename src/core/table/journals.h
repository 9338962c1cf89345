#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/table/owned_lock.h"
#include "core/table/slot.h"

namespace rate_limit {

/// Names a slot of a table; 0: none.
using SlotNumber = std::uint64_t;

/// What the processes of a table are about to do with which slot, so that others can finish it if they die:
/// a journal each, in memory that they share. Its lines are its owner's own: nobody waits for them.
///
/// Who has a journal may hold a record alone, under a name that says which journal it is: that is how others
/// find out that the holder is dead. Therefore a journal whose owner died holding something is not given to
/// anybody else before that has been taken over.
///
/// A process that has no journal, as they are all taken, does without.
template <typename Record>
class RecordJournals {
    /// Changes of the record, made in its place, are written down here first.
    struct alignas(64) Journal {
        std::atomic<std::uint64_t> owner{0};  // as OwnedLock::word_of()
        std::atomic<std::uint64_t> claims{0};
        std::atomic<SlotNumber> held{0};     // what its owner holds or is about to take
        std::atomic<SlotNumber> written{0};  // where the record goes, while it is written there
        Record record;
    };

public:
    static constexpr std::size_t bytes = Record::journals * sizeof(Journal);

    explicit RecordJournals(const LockUser& user) noexcept : user_(user) {}

    void take_up(void* memory) noexcept { journals_ = static_cast<Journal*>(memory); }

    /// Whose it will be, which has none yet.
    void set_user(const LockUser& user) noexcept {
        user_ = user;
        own_ = nullptr;
    }

    /// Takes one that nobody has, or whose owner died without holding anything. One process has one in each
    /// table, however many views of it.
    void claim() noexcept;

    /// Gives it back. True if nobody has one any more that lives, but perhaps the process `besides`.
    bool leave(std::uint32_t besides) noexcept;

    bool has_one() const noexcept { return own_ != nullptr; }

    /// With a journal:

    /// The name under which this process holds a record.
    Holder holder() const noexcept { return holder_; }

    /// Before it takes the slot.
    void begin_hold(SlotNumber slot) noexcept { own_->held.store(slot, std::memory_order_relaxed); }

    /// After it has let go of it.
    void end_hold() noexcept { own_->held.store(0, std::memory_order_release); }

    /// The record in this slot becomes this one. From the moment it stands in the journal that is done,
    /// whoever finishes it. What is written has only to keep its order in this process: when it has died, all
    /// of it can be seen.
    void overwrite(RecordSlot<Record>& slot, SlotNumber number, const Record& record) noexcept {
        own_->record = record;
        own_->written.store(number, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        slot.store(record);
        own_->written.store(0, std::memory_order_release);
    }

    /// With or without:

    /// Whether who goes by this name may still let go of what it holds.
    bool lives(Holder holder) const noexcept;

    /// The caller holds this slot, and those who did are dead: what they had begun there is done.
    void finish(RecordSlot<Record>& slot, SlotNumber number) noexcept;

    /// Calls visit(SlotNumber) for each slot that one who died may have held.
    template <typename Visit>
    void with_orphans(Visit&& visit) noexcept;

private:
    /// A name is the number of a journal and, above that, how often it was claimed, modulo 256: who finds a
    /// holder dead and takes over from it cannot take over from another one that claimed the same journal
    /// meanwhile.
    static constexpr unsigned index_bits = 8;
    static constexpr Holder first = nobody + 1;
    static_assert(Record::journals + first <= std::size_t{1} << index_bits, "a name has 8 bits for it");

    Journal* begin() const noexcept { return journals_; }
    Journal* end() const noexcept { return journals_ + Record::journals; }

    bool is_dead(std::uint64_t owner) const noexcept {
        return owner != 0 && !user_.is_alive(OwnedLock::process_of(owner));
    }

    void own(Journal& journal) noexcept {
        own_ = &journal;
        const std::uint64_t claims = journal.claims.load(std::memory_order_relaxed);
        holder_ = static_cast<Holder>((claims << index_bits) |
                                      (static_cast<std::uint64_t>(own_ - begin()) + first));
    }

    LockUser user_;
    Journal* journals_ = nullptr;  // Record::journals of them
    Journal* own_ = nullptr;       // this process's
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
        // In this order: who is dead begins nothing after it was seen to hold nothing.
        const bool free =
            owner == 0 || (is_dead(owner) && journal.held.load(std::memory_order_acquire) == 0 &&
                           journal.written.load(std::memory_order_acquire) == 0);
        if (free && journal.owner.compare_exchange_strong(owner, self, std::memory_order_acq_rel)) {
            journal.claims.fetch_add(1, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);  // whose it is is seen before what it holds
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
    return std::none_of(begin(), end(), [&](const Journal& journal) {
        const std::uint64_t owner = journal.owner.load(std::memory_order_acquire);
        return owner != 0 && OwnedLock::process_of(owner).pid != besides && !is_dead(owner);
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
        // Only its holder writes, and that is the caller now: if it is written elsewhere, then by the dead.
        if (journal.written.load(std::memory_order_acquire) == number) {
            slot.store(journal.record);
            journal.written.store(0, std::memory_order_release);
        }
        // Who lives waits for it. Who died meanwhile may hold something else.
        const auto is_at_it = [&] { return journal.held.load(std::memory_order_acquire) == number; };
        const std::uint64_t owner = journal.owner.load(std::memory_order_acquire);
        if (is_at_it() && is_dead(owner) && is_at_it() &&
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
