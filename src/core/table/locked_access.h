#pragma once

#include "core/limit/window.h"
#include "core/table/eviction.h"
#include "core/table/memory.h"
#include "core/table/owned_lock.h"
#include "core/table/set.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// Holds one record, or the room for a new one, under the locks of its sets, as long as this object lives:
/// see "Locked access" in table.h.
template <typename Record>
class LockedAccess {
public:
    using Set = RecordSet<Record>;

    explicit LockedAccess(RecordMemory<Record>& memory) noexcept : memory_(memory) {}
    LockedAccess(const LockedAccess&) = delete;
    LockedAccess& operator=(const LockedAccess&) = delete;
    ~LockedAccess() { release(); }

    /// Takes this id's record. False if the id has none: both its sets stay locked then, so that no other
    /// process can put the record there.
    bool find(const WindowId& id) noexcept;

    /// Takes this id's record as find() does, but makes room for the record of a new id. A record that is
    /// still needed is evicted only if both sets are full of such. False if there is no room.
    bool find_or_make_room(const WindowId& id, Millis now) noexcept;

    /// The record; a new id's is without a window.
    Record record() const noexcept;

    /// Replaces the record by this one, which differs. One without a window (reset 0) is removed.
    void keep(const Record& record) noexcept;

private:
    struct Victim {
        EvictionRank rank;
        Set* set = nullptr;
        unsigned slot = Set::no_slot;
    };

    bool find_in(Set& set, const WindowId& id) noexcept;
    bool make_room(Set& left, Set& right, Millis now) noexcept;
    Victim victim_of(Set& set, Millis now) noexcept;
    void take(Set& set, unsigned slot) noexcept;
    void release() noexcept;

    RecordMemory<Record>& memory_;
    HeldLock left_;
    HeldLock right_;
    WindowId id_;
    bool found_ = false;
    Set* set_ = nullptr;
    unsigned slot_ = Set::no_slot;  // the record's slot or, for a new id, that of the record to evict
    EvictionTier tier_ = EvictionTier::ended;  // the tier of that record
};

template <typename Record>
bool LockedAccess<Record>::find(const WindowId& id) noexcept {
    id_ = id;
    const auto [left_index, right_index] = memory_.sets_of(id);
    Set& left = memory_.set(left_index);
    Set& right = memory_.set(right_index);
    // An id is never in both sets: if its record is found under one set's lock, the other need not be locked.
    if (left.guess(id) != Set::no_slot) {
        memory_.lock(left_, left);
        if (find_in(left, id)) {
            return true;
        }
        left_.release();
    } else if (right.guess(id) != Set::no_slot) {
        memory_.lock(right_, right);
        if (find_in(right, id)) {
            return true;
        }
        right_.release();
    }
    memory_.lock(left_, left);
    memory_.lock(right_, right);
    return find_in(left, id) || find_in(right, id);
}

/// Looks for the record in one locked set, and takes it. Until it is taken, its holder may still remove it.
template <typename Record>
bool LockedAccess<Record>::find_in(Set& set, const WindowId& id) noexcept {
    const unsigned slot = set.find(id);
    if (slot == Set::no_slot) {
        return false;
    }
    take(set, slot);
    found_ = set.is_valid(slot);
    if (!found_) {
        release();
    }
    return found_;
}

template <typename Record>
bool LockedAccess<Record>::find_or_make_room(const WindowId& id, Millis now) noexcept {
    if (find(id)) {
        return true;
    }
    const auto [left, right] = memory_.sets_of(id);
    const bool room = make_room(memory_.set(left), memory_.set(right), now);
    if (!room && memory_.room_listener() != nullptr) {
        memory_.room_listener()->on_full();
    }
    return room;
}

template <typename Record>
bool LockedAccess<Record>::make_room(Set& left, Set& right, Millis now) noexcept {
    constexpr unsigned most_tries = 8;
    for (unsigned tries = 1;; ++tries) {
        const unsigned in_left = left.count_open(now);
        const unsigned in_right = right.count_open(now);
        Set& set = in_left >= Set::capacity / 2 && in_right < in_left ? right : left;
        if (set.size() < Set::capacity) {
            set_ = &set;
            return true;
        }
        Victim victim = victim_of(set, now);
        if (victim.rank.tier != EvictionTier::ended) {
            Set& other_set = &set == &left ? right : left;
            if (other_set.size() < Set::capacity) {
                set_ = &other_set;
                return true;
            }
            const Victim other = victim_of(other_set, now);
            if (other.rank < victim.rank) {
                victim = other;
            }
        }
        if (victim.slot == Set::no_slot) {
            return false;
        }
        take(*victim.set, victim.slot);
        // Until now other processes could change the victim: it may have been removed, or its rank have
        // risen.
        if (!set_->is_valid(slot_)) {
            slot_ = Set::no_slot;
            return true;
        }
        const EvictionRank rank = eviction_rank(set_->at(slot_), now);
        const bool enough_tries = tries >= most_tries && rank.tier != EvictionTier::never;
        if (enough_tries || !(victim.rank < rank)) {
            tier_ = rank.tier;
            return true;
        }
        release();
    }
}

template <typename Record>
auto LockedAccess<Record>::victim_of(Set& set, Millis now) noexcept -> Victim {
    Victim victim;
    for (unsigned slot = 0; slot < Set::slots; ++slot) {
        if (!set.is_valid(slot)) {
            continue;
        }
        take(set, slot);
        const EvictionRank rank = eviction_rank(set.at(slot), now);
        release();
        if (rank < victim.rank) {
            victim = {rank, &set, slot};
        }
    }
    return victim;
}

template <typename Record>
Record LockedAccess<Record>::record() const noexcept {
    if (found_) {
        return set_->at(slot_);
    }
    Record record;
    record.id = id_;
    return record;
}

template <typename Record>
void LockedAccess<Record>::keep(const Record& record) noexcept {
    if (record.reset == 0) {
        if (found_) {
            set_->drop(slot_);
        }
    } else if (found_ && memory_.journals().has_one()) {
        memory_.journals().overwrite(set_->slot(slot_), memory_.number_of(*set_, slot_), record);
    } else {
        const unsigned free = set_->free_slot(record.id);
        memory_.take_slot(*set_, free);
        set_->put(record, free, slot_);
        if (tier_ != EvictionTier::ended && memory_.room_listener() != nullptr) {
            memory_.room_listener()->on_evicted(tier_);
        }
    }
}

template <typename Record>
void LockedAccess<Record>::take(Set& set, unsigned slot) noexcept {
    set_ = &set;
    slot_ = slot;
    memory_.take_slot(set, slot);
}

template <typename Record>
void LockedAccess<Record>::release() noexcept {
    if (set_ != nullptr && slot_ != Set::no_slot) {
        set_->slot(slot_).give_to(nobody);
    }
    set_ = nullptr;
    slot_ = Set::no_slot;
}

}  // namespace rate_limit
