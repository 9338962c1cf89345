#pragma once

#include "core/table/lock_wait.h"
#include "core/table/memory.h"
#include "core/table/prefetch.h"
#include "core/table/slot.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// One record that this process holds alone, as long as this lives: the short way to a record that is there,
/// without its set's lock. Most of what the memory costs a request is here: it is inlined, and the compiler
/// is told which way is the usual one, as a change costs a fifth more without either.
template <typename Record>
class FastAccess {
public:
    explicit FastAccess(RecordMemory<Record>& memory) noexcept : memory_(memory) {}
    FastAccess(const FastAccess&) = delete;
    FastAccess& operator=(const FastAccess&) = delete;
    ~FastAccess() { give_back(); }

    /// False: this id's record is not where it seemed to be, or only who has the set's lock can tell, or this
    /// process has no journal.
    bool take(const WindowId& id) noexcept;

    Record record() const noexcept { return at_->load(id_); }

    /// The record becomes this one, which differs. Without a window (reset 0) nothing is kept.
    void keep(const Record& record) noexcept;

private:
    using Set = RecordSet<Record>;

    bool take_from(Set& set, unsigned slot, const WindowId& id) noexcept;
    bool wait_for_it(std::uint64_t found) noexcept;
    void give_back() noexcept;

    RecordMemory<Record>& memory_;
    WindowId id_;
    RecordSlot<Record>* at_ = nullptr;  // nullptr: holds none
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
    // What was put here, or taken out, before this process held it is known now.
    if (__builtin_expect(!set.has(slot, id), false)) {
        give_back();
        return false;
    }
    return true;
}

/// `found` is the lock as it stood. False: it is no record of this id, or to be had only with the set's lock.
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

/// One that is not valid is given back, too: who puts a record there takes it first.
template <typename Record>
[[gnu::always_inline]] inline void FastAccess<Record>::give_back() noexcept {
    if (at_ != nullptr) {
        at_->give_to(nobody);
        memory_.journals().end_hold();
        at_ = nullptr;
    }
}

}  // namespace rate_limit
