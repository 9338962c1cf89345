#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/limit/window.h"
#include "core/table/fast_access.h"
#include "core/table/keyed_hash.h"
#include "core/table/locked_access.h"
#include "core/table/memory.h"
#include "core/table/owned_lock.h"
#include "core/table/prefetch.h"
#include "core/table/set.h"
#include "core/table/window_id.h"

namespace rate_limit {

// How the shared table works
// ==========================
//
// The table keeps records about the windows of one machine in memory that all its worker processes share. It
// is bounded, holds no pointers, and has no lock for the whole of it. Any process may be killed at any
// instruction, and the others must then find either the old record or the new one, and never wait for ever.
//
// The parts
//
// - An *id* is a keyed 128-bit digest of a window's identity. Its upper half chooses two sets, a left and a
//   right one; its record is in one of them or in neither, never in both. A new record goes into the left set
//   while less than half of that is open windows, so that in a table with room most records are found at the
//   first look; otherwise it goes into the set with fewer of them.
// - A *set* (set.h) is one cache line of bookkeeping, followed by 24 slots. The line holds the set's lock,
//   one word whose bits say which slots are valid, and a tag for each slot. At most 23 slots are valid: one
//   always stays free, so that a new record can be written completely before it becomes visible. With 23
//   records a set, the sets fill so evenly that none is full while the table is filled to less than 80%,
//   however ids come and go.
// - A *slot* (slot.h) is a record together with its own lock. The *tag* is the upper 16 bits of the id's
//   lower half: they are kept in the set's first line, and the slot uses their place for the name of its
//   holder. So one compare-and-exchange both takes the lock and checks that the slot still has (the rest of)
//   this id.
// - A *holder* is a name in a slot: `nobody`; `set_holder`, which means the process that has the set's lock;
//   or the name of a process that has a journal.
// - A *journal* (journals.h) belongs to one process at a time. In it the process notes which slot it holds or
//   is about to take, and, before it changes a record in its slot, what the record will be. Others read it
//   only when its owner has died. There is a fixed number of journals.
//
// Fast access (fast_access.h): one record's lock
//
// The usual way, for a record that is in the table. The process reads the tags, without a lock, to find the
// slot; notes the slot in its journal; and exchanges the holder `nobody` for its own name. Only then does it
// check the valid bit and the whole id, because the slot may have changed since the look at the tags. To
// change the record, it writes the new one into its journal, marks it as written, copies it into the slot and
// clears the mark. To remove the record, it clears the slot's valid bit. At the end it stores `nobody` as the
// holder. It never waits for a set's lock: where it finds `set_holder`, it gives up, and the caller uses
// locked access.
//
// Locked access (locked_access.h): the set's lock
//
// For all else: new ids, ids that share a tag with another, and processes that found no free journal. The
// process locks the set where the record seems to be, or both sets of the id, the left one before the right
// one. It then takes each slot that it looks at from its holder: if that lives, it waits until the slot is
// released; the holder becomes `set_holder`. A new record is written into a free slot; then one exchange of
// the set's valid word makes that slot valid and, if another record has to go, the other record's slot free.
// A process without a journal changes a record in the same way: it writes the changed record into a free slot
// and exchanges the two, which costs more cache lines. There is no deadlock: the owner of a set's lock may
// wait for holders of slots, holders of slots never wait for a set's lock, and left locks come before right.
//
// The death of a process
//
// Each lock word names its owner's process, or its owner's journal, which names the process: number and start
// time, so that a new process of the same number is not taken for it. A process that waits for a lock asks
// from time to time whether the owner lives. If it does not, one of those that wait exchanges the dead
// owner's name for its own, and repairs what the dead one may have left (RecordJournals::finish(),
// RecordMemory::recover()):
//
// - It had noted a slot in its journal, but not taken it: the slot is as it was. The note is cleared.
// - It held a slot and had not marked a record as written: the slot has the old record.
// - It had marked a record as written: the next holder copies the record from the journal into the slot (once
//   more), so the change is complete.
// - It had a set's lock and had not exchanged the valid word: what it wrote into the free slot is not valid,
//   and nobody sees it. After the exchange the change is complete.
// - Slots that it had taken as `set_holder` stay so: a process that wants one finds that the fast way is
// closed,
//   takes the set's lock, and releases the slot when done.
// - If no process wants what it held, its journal would stay out of use. A process that attaches to the table
//   therefore first takes over, under the set's lock, all slots that dead processes held.
//
// A journal is given to another process only once its dead owner holds nothing. A journal's name changes with
// each owner, so an exchange that expects the dead one's name fails once another process has taken over.
//
// The memory order, and its reasons
//
// - A slot's lock is taken with acquire and released with release: each holder sees all that the one before
//   it wrote.
// - The exchange of the valid word releases, and every reader acquires it: a process that sees a valid bit
// sees the
//   record and the tag behind it, even if the writer died before it could release the set's lock.
// - Others read a record's lock word and its reset while the holder is at work; these two are read and
//   written atomically. All else in a record is read by its holder only. Tags are read relaxed: a stale one
//   leads to a wrong guess, which is found out once the slot is held.
// - A process writes its journal in program order: the slot is noted before the exchange that takes it, and
//   the record is marked as written before it is copied (a signal fence keeps the compiler from moving the
//   copy). Nobody reads these writes before the process is dead; then all of them can be seen.
// - A process that looks for a free journal asks first whether its owner is dead, and then what it holds: a
// dead
//   process takes nothing more.
//
// t/unit/window_table_step_test.cpp stops a process after each of its instructions and looks at the table as
// its heirs would find it; t/unit/window_table_stress_test.cpp kills processes at random.

/// The kind of record that a function takes by reference.
template <typename Result, typename Taken>
Taken taken_by(Result (*)(Taken&)) noexcept;
template <typename Fn, typename Result, typename Taken>
Taken taken_by(Result (Fn::*)(Taken&) const) noexcept;
template <typename Fn, typename Result, typename Taken>
Taken taken_by(Result (Fn::*)(Taken&)) noexcept;
template <typename Fn>
decltype(taken_by(&Fn::operator())) taken_by(const Fn&) noexcept;
template <typename Fn>
using TakenBy = decltype(taken_by(std::declval<Fn>()));

/// One process's view of a shared table of records. The view does not own the memory, and must not outlive
/// it.
///
/// Besides what RecordSet asks for, a Record says how many `journals` a table has, can be compared, starts
/// without a window (reset 0), and has an `eviction_rank(record, now)` that says which record is evicted when
/// there is no room. With no journals at all, every change takes the set's lock. A Record of several kinds is
/// made of any of them and has become<Kind>(), and functions given to the table take the kind that they are
/// about: if the id's record is of another one, they get a new one.
///
/// Functions given to update(), change() and visit() run while the record is held: they must be short, and
/// must not call the table.
template <typename Record>
class RecordTable {
public:
    using Set = RecordSet<Record>;

    static constexpr std::size_t alignment = RecordMemory<Record>::alignment;

    /// How many bytes a table needs that holds this many records when it is full.
    static std::size_t bytes_for(std::size_t records) noexcept {
        return RecordMemory<Record>::bytes_for(records);
    }

    explicit RecordTable(const LockUser& user) noexcept : memory_(user) {}

    /// Says which process uses this view from now on: a child calls it after fork().
    void set_user(const LockUser& user) noexcept { memory_.set_user(user); }

    /// Gives up this process's journal, as it will hardly change anything any more. True if no other living
    /// process has a journal; the process with the number `besides` does not count. All views that this
    /// process has of the table share the journal: the caller uses none of them any more, or only this one.
    bool leave(std::uint32_t besides) noexcept { return memory_.journals().leave(besides); }

    /// Makes an empty table of these bytes, which must all be zero: most of them are not touched. The key
    /// must be random: a client that knew it could choose identities whose ids share sets. False if the bytes
    /// are too few or not aligned.
    [[nodiscard]] bool create(void* memory, std::size_t size, const HashKey& key) noexcept {
        return memory_.create(memory, size, key);
    }

    /// Uses a table that create() made in memory of exactly this size. False if there is none.
    [[nodiscard]] bool attach(void* memory, std::size_t size) noexcept {
        return memory_.attach(memory, size);
    }

    /// The id that a window's identity has in this table.
    WindowId id_of(std::string_view identity) const noexcept {
        const Hash128 hash = keyed_hash(memory_.key(), identity);
        return {hash.high, hash.low};
    }

    /// Loads into the cache what the next call with this id reads first, while the caller has other things to
    /// do: the left set's tags, and its home slot for this id, where the record is unless that was taken when
    /// the record came.
    void prefetch(const WindowId& id) const noexcept {
        const Set& left = memory_.set(memory_.sets_of(id).first);
        __builtin_prefetch(&left);
        prefetch_to_write(&left.slot(Set::home_of(id)));
    }

    /// A copy of this id's record; its window may have ended.
    template <typename As = Record>
    std::optional<As> find(const WindowId& id) noexcept;

    /// Calls fn(Record&), or with a kind of it, with a copy of this id's record, whose window may have ended,
    /// or with a new one without a window if the id has none, and then stores that copy. If fn leaves it
    /// without a window (reset 0), the table forgets the id; if fn changes nothing, nothing is written. False
    /// if the id is new and there is no room for it: fn is not called then.
    template <typename Fn>
    [[nodiscard]] bool update(const WindowId& id, Millis now, Fn&& fn) {
        FastAccess<Record> fast(memory_);
        if (fast.take(id)) {
            edit(id, fast, std::forward<Fn>(fn));
            return true;
        }
        LockedAccess<Record> locked(memory_);
        if (!locked.find_or_make_room(id, now)) {
            return false;
        }
        edit(id, locked, std::forward<Fn>(fn));
        return true;
    }

    /// Changes the record of this id as update() does, but only if there is one. False: there is none, and fn
    /// is not called.
    template <typename Fn>
    bool change(const WindowId& id, Fn&& fn) {
        FastAccess<Record> fast(memory_);
        if (fast.take(id)) {
            edit(id, fast, std::forward<Fn>(fn));
            return true;
        }
        LockedAccess<Record> locked(memory_);
        if (!locked.find(id)) {
            return false;
        }
        edit(id, locked, std::forward<Fn>(fn));
        return true;
    }

    /// The listener that is told of evictions and of a lack of room, as far as this view causes them; null:
    /// nobody.
    void set_room_listener(RoomListener* listener) noexcept { memory_.set_room_listener(listener); }

    /// How many records fit.
    std::size_t capacity() const noexcept { return sets() * Set::capacity; }

    std::size_t sets() const noexcept { return memory_.sets(); }

    /// The two sets that may hold this id.
    std::pair<std::size_t, std::size_t> sets_of(const WindowId& id) const noexcept {
        return memory_.sets_of(id);
    }

    /// How full the table is.
    struct Occupancy {
        std::size_t open = 0;    ///< records of windows that have not ended
        std::size_t closed = 0;  ///< other records
        bool exact = true;       ///< false: an estimate
    };

    /// Looks at evenly spread sets without taking anything: nobody waits for that, and it takes 2 ms at most.
    /// Ids spread evenly over the sets, so an estimate is good to about 1%. What changes meanwhile may be
    /// counted either way.
    Occupancy occupancy(Millis now) const noexcept;

    /// Copies of one set's records. Each was copied at one moment, but not all at the same one. No id is
    /// there twice.
    struct Records {
        std::array<Record, Set::capacity> records;
        std::size_t count = 0;

        const Record* begin() const noexcept { return records.data(); }
        const Record* end() const noexcept { return records.data() + count; }
    };

    /// `set` is less than sets().
    Records records_of(std::size_t set) noexcept;

    /// Calls fn(const WindowId&, const Record&) with each record of one set, not copied: its own `id` means
    /// nothing, the first argument is the id. fn must not throw.
    template <typename Fn>
    void visit(std::size_t set, Fn&& fn) noexcept;

    /// Calls fn(const Record&) with a copy of each record, set by set. No lock is held then, so fn may call
    /// the table.
    template <typename Fn>
    void for_each(Fn&& fn) {
        for (std::size_t set = 0; set < sets(); ++set) {
            for (const Record& record : records_of(set)) {
                fn(record);
            }
        }
    }

private:
    template <typename Where, typename Fn>
    static void edit(const WindowId& id, Where& where, Fn&& fn) {
        Record found = where.record();
        const auto& before = become<TakenBy<std::decay_t<Fn>>>(found);
        auto record = before;
        std::forward<Fn>(fn)(record);
        record.id = id;
        if (!(record == before)) {
            where.keep(reinterpret_cast<const Record&>(record));
        }
    }

    template <typename As>
    static As& become(Record& record) noexcept {
        if constexpr (std::is_same_v<As, Record>) {
            return record;
        } else {
            return record.template become<As>();
        }
    }

    /// The number of sets whose records are counted, and of filled ones among them whose open windows are: a
    /// cache line for each of both.
    static constexpr std::size_t most_sizes = 6000;
    static constexpr std::size_t most_opened = 512;

    RecordMemory<Record> memory_;
};

template <typename Record>
template <typename As>
std::optional<As> RecordTable<Record>::find(const WindowId& id) noexcept {
    FastAccess<Record> fast(memory_);
    if (fast.take(id)) {
        Record found = fast.record();
        return become<As>(found);
    }
    LockedAccess<Record> locked(memory_);
    if (!locked.find(id)) {
        return std::nullopt;
    }
    Record found = locked.record();
    return become<As>(found);
}

template <typename Record>
auto RecordTable<Record>::occupancy(Millis now) const noexcept -> Occupancy {
    const std::size_t looks = std::min(most_sizes, sets());
    const auto for_each_filled = [&](auto&& fn) {
        for (std::size_t i = 0; i < looks; ++i) {
            const Set& set = memory_.set(i * sets() / looks);
            if (!set.seems_empty()) {
                fn(set);
            }
        }
    };
    std::size_t filled = 0;
    std::size_t records = 0;
    for_each_filled([&](const Set& set) {
        ++filled;
        records += set.size();
    });
    // Other workers may fill the first set between the two walks.
    const std::size_t step = std::max<std::size_t>(1, (filled + most_opened - 1) / most_opened);
    std::size_t at = 0;
    std::size_t looked_at = 0;
    std::size_t open = 0;
    for_each_filled([&](const Set& set) {
        if (at++ % step == 0) {
            looked_at += set.size();
            open += set.count_open(now);
        }
    });
    Occupancy found;
    found.exact = looks == sets() && step <= 1;
    records = looks != 0 ? records * sets() / looks : 0;
    found.open = looked_at != 0 ? std::min(records, open * records / looked_at) : 0;
    found.closed = records - found.open;
    return found;
}

template <typename Record>
auto RecordTable<Record>::records_of(std::size_t set) noexcept -> Records {
    Records copy;
    visit(set, [&copy](const WindowId& id, const Record& record) {
        Record& last = copy.records.at(copy.count++);
        last = record;
        last.id = id;
    });
    return copy;
}

template <typename Record>
template <typename Fn>
void RecordTable<Record>::visit(std::size_t set, Fn&& fn) noexcept {
    Set& from = memory_.set(set);
    if (from.seems_empty()) {
        return;
    }
    HeldLock lock;
    memory_.lock(lock, from);
    unsigned visited = 0;
    for (unsigned slot = 0; slot < Set::slots && visited < Set::capacity; ++slot) {
        if (!from.is_valid(slot)) {
            continue;
        }
        // In a table without journals only the owner of the set's lock changes records: no slot need be
        // taken.
        if constexpr (Record::journals != 0) {
            memory_.take_slot(from, slot);
        }
        if (from.is_valid(slot)) {
            ++visited;
            fn(from.id_at(slot), from.slot(slot).in_place());
        }
        if constexpr (Record::journals != 0) {
            from.slot(slot).give_to(nobody);
        }
    }
}

}  // namespace rate_limit
