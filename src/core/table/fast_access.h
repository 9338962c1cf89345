#pragma once

#include "core/table/lock_wait.h"
#include "core/table/memory.h"
#include "core/table/prefetch.h"
#include "core/table/slot.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// Holds one record that is in the table by its own lock, as long as this object lives, without its set's
/// lock: see "Fast access" in table.h. Most of what the memory costs a request is spent here. The functions
/// are therefore inlined, and the compiler is told which branch is the usual one: without either a change
/// costs a fifth more.
template <typename Record>
class FastAccess {
public:
    explicit FastAccess(RecordMemory<Record>& memory) noexcept : memory_(memory) {}
    FastAccess(const FastAccess&) = delete;
    FastAccess& operator=(const FastAccess&) = delete;
    ~FastAccess() { release(); }

    /// False if the caller has to use LockedAccess: the record is not where its tag seemed to be, the slot is
    /// held under the set's lock, or this process has no journal.
    bool take(const WindowId& id) noexcept;

    Record record() const noexcept { return at_->load(id_); }

    /// Replaces the record by this one, which differs. One without a window (reset 0) is removed.
    void keep(const Record& record) noexcept;

private:
    using Set = RecordSet<Record>;

    bool take_from(Set& set, unsigned slot, const WindowId& id) noexcept;
    bool wait_for_it(std::uint64_t found) noexcept;
    void release() noexcept;

    RecordMemory<Record>& memory_;
    WindowId id_;
    RecordSlot<Record>* at_ = nullptr;  // the slot that is held; nullptr: none
    Set* set_ = nullptr;
    unsigned slot_ = Set::no_slot;
    SlotNumber number_ = 0;
};

template <typename Record>
[[gnu::always_inline]] inline bool FastAccess<Record>::take(const WindowId& id) noexcept {
    if (!memory_.journals().has_one()) {
        return false;
    }
    const auto [left_index, right_index] = memory_.sets_of(id);
    Set& left = memory_.set(left_index);
    prefetch_to_write(&left.slot(Set::home_of(id)));
    const unsigned in_left = left.guess(id);
    if (in_left != Set::no_slot) {
        return take_from(left, in_left, id);
    }
    Set& right = memory_.set(right_index);
    const unsigned in_right = right.guess(id);
    return in_right != Set::no_slot && take_from(right, in_right, id);
}

template <typename Record>
[[gnu::always_inline]] inline bool FastAccess<Record>::take_from(Set& set, unsigned slot,
                                                                 const WindowId& id) noexcept {
    RecordJournals<Record>& journals = memory_.journals();
    id_ = id;
    at_ = &set.slot(slot);
    set_ = &set;
    slot_ = slot;
    number_ = memory_.number_of(set, slot);
    journals.begin_hold(number_);
    std::uint64_t found = at_->lock_of(id, nobody);
    const bool at_once = at_->replace(found, journals.holder());
    if (__builtin_expect(!at_once, false) && !wait_for_it(found)) {
        journals.end_hold();
        at_ = nullptr;
        return false;
    }
    // The tags were read before the slot was held: only now is it certain which record is here.
    if (__builtin_expect(!set.has(slot, id), false)) {
        release();
        return false;
    }
    return true;
}

/// Waits until the slot's holder releases it or is found dead, and takes it. `found` is the lock as it was
/// read last. False if the slot has another id's record by now, or is held under the set's lock.
template <typename Record>
[[gnu::noinline]] bool FastAccess<Record>::wait_for_it(std::uint64_t found) noexcept {
    RecordJournals<Record>& journals = memory_.journals();
    for (LockWait wait;; found = at_->lock()) {
        const Holder holder = at_->holder_of(found);
        if (holder == set_holder || found != at_->lock_of(id_, holder)) {
            return false;
        }
        if (holder == nobody) {
            if (at_->replace(found, journals.holder())) {
                return true;
            }
        } else if (wait.again() && !journals.lives(holder) && at_->replace(found, journals.holder())) {
            journals.finish(*at_, number_);
            return true;
        }
    }
}

template <typename Record>
[[gnu::always_inline]] inline void FastAccess<Record>::keep(const Record& record) noexcept {
    if (record.reset == 0) {
        set_->drop(slot_);
    } else {
        memory_.journals().overwrite(*at_, number_, record);
    }
}

/// Releases the slot, even one that is not valid (any more): a process that puts a record there takes the
/// slot first.
template <typename Record>
[[gnu::always_inline]] inline void FastAccess<Record>::release() noexcept {
    if (at_ != nullptr) {
        at_->give_to(nobody);
        memory_.journals().end_hold();
        at_ = nullptr;
    }
}

}  // namespace rate_limit
