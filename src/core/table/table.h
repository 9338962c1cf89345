#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
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

/// Records about the windows of one machine, in memory that its processes share: bounded, no pointers inside,
/// no global lock. An id may lie in one of two sets: it goes into the left one while that is less than half
/// full of open windows, so that in a table with room most are found at the first look, else into the one
/// with fewer. A set holds 23: with that the sets fill so evenly that none is full while the table is filled
/// to less than 80%, however ids come and go.
///
/// A record that is here is held by itself and changed in its place, after the change has been written into
/// the process's journal: who takes over what a dead process held finishes what stands there. So a change is
/// made wholly or not at all. Records are put in, and others taken out for them, under the locks of both sets
/// where the id may be. A process that finds no journal takes a set's lock for every change, and puts the
/// changed record into a free slot, which costs more cache lines.
///
/// Besides what RecordSet asks for, a Record says how many `journals` a table has, can be compared, is made
/// with no window (reset 0), and has an `eviction_rank(record, now)` that says what gives way when there is
/// no room.
///
/// This object is one process's view; it does not own the memory, and lives no longer. Functions given to
/// update() and change() run while the id's record is held: short, and without calling the table.
template <typename Record>
class RecordTable {
public:
    using Set = RecordSet<Record>;

    static constexpr std::size_t alignment = RecordMemory<Record>::alignment;

    /// How much memory holds this many records when the table is full.
    static std::size_t bytes_for(std::size_t records) noexcept {
        return RecordMemory<Record>::bytes_for(records);
    }

    explicit RecordTable(const LockUser& user) noexcept : memory_(user) {}

    /// Whose locks these are: to be called after fork().
    void set_user(const LockUser& user) noexcept { memory_.set_user(user); }

    /// This process will change hardly anything any more. True if no other process that lives will, as far as
    /// they have journals; `besides` is the number of one that does not count. It speaks for all views that
    /// this process has of the table: none of them is used any more, or all but this one are at an end.
    bool leave(std::uint32_t besides) noexcept { return memory_.journals().leave(besides); }

    /// Makes an empty table of these bytes, which are all zero: most of them are not touched. The key is to
    /// be random: who knows it can choose ids that share sets. False if they are too few or not aligned.
    [[nodiscard]] bool create(void* memory, std::size_t size, const HashKey& key) noexcept {
        return memory_.create(memory, size, key);
    }

    /// Takes up a table made by create() in memory of this very size. False if it is none.
    [[nodiscard]] bool attach(void* memory, std::size_t size) noexcept {
        return memory_.attach(memory, size);
    }

    /// The id of a window's identity in this table.
    WindowId id_of(std::string_view identity) const noexcept {
        const Hash128 hash = keyed_hash(memory_.key(), identity);
        return {hash.high, hash.low};
    }

    /// Brings near what the next call with this id looks at first, while the caller has other things to do:
    /// of the left set the tags, and the slot where the record is if that was free when it came.
    void prefetch(const WindowId& id) const noexcept {
        const Set& left = memory_.set(memory_.sets_of(id).first);
        __builtin_prefetch(&left);
        prefetch_to_write(&left.slot(Set::home_of(id)));
    }

    /// The record as it stands, perhaps of a window that has ended.
    std::optional<Record> find(const WindowId& id) noexcept;

    /// Calls fn(Record&) with a copy of this id's record, perhaps of a window that has ended, or with a
    /// new one without a window, and keeps what it leaves; without a window (reset 0) nothing is kept. What
    /// it leaves unchanged costs no write. False, and fn is not called: a new id, and no room for it.
    template <typename Fn>
    [[nodiscard]] bool update(const WindowId& id, Millis now, Fn&& fn) {
        FastAccess<Record> hold(memory_);
        if (hold.take(id)) {
            edit(id, hold, std::forward<Fn>(fn));
            return true;
        }
        LockedAccess<Record> place(memory_);
        if (!place.find_or_make_room(id, now)) {
            return false;
        }
        edit(id, place, std::forward<Fn>(fn));
        return true;
    }

    /// The same for an id that has a record. False, and fn is not called: it has none.
    template <typename Fn>
    bool change(const WindowId& id, Fn&& fn) {
        FastAccess<Record> hold(memory_);
        if (hold.take(id)) {
            edit(id, hold, std::forward<Fn>(fn));
            return true;
        }
        LockedAccess<Record> place(memory_);
        if (!place.find(id)) {
            return false;
        }
        edit(id, place, std::forward<Fn>(fn));
        return true;
    }

    /// How many records fit.
    std::size_t capacity() const noexcept { return sets() * Set::capacity; }

    std::size_t sets() const noexcept { return memory_.sets(); }

    /// The two sets that may hold this id.
    std::pair<std::size_t, std::size_t> sets_of(const WindowId& id) const noexcept {
        return memory_.sets_of(id);
    }

    /// Records of one set, each as it stands at one moment, and none of them twice.
    struct Records {
        std::array<Record, Set::capacity> records;
        std::size_t count = 0;

        const Record* begin() const noexcept { return records.data(); }
        const Record* end() const noexcept { return records.data() + count; }
    };

    /// `set` is less than sets().
    Records records_of(std::size_t set) noexcept;

    /// Calls fn(const WindowId&, const Record&) with each of one set where it lies, of which all but its id
    /// means something. As update() and change() it runs fn while the record is held, and throws nothing.
    template <typename Fn>
    void visit(std::size_t set, Fn&& fn) noexcept;

    /// Calls fn(const Record&) with a copy of each, set by set, without a lock: fn may call the table.
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
        Record record = where.record();
        std::forward<Fn>(fn)(record);
        record.id = id;
        if (!(record == where.record())) {
            where.keep(record);
        }
    }

    RecordMemory<Record> memory_;
};

template <typename Record>
std::optional<Record> RecordTable<Record>::find(const WindowId& id) noexcept {
    FastAccess<Record> hold(memory_);
    if (hold.take(id)) {
        return hold.record();
    }
    LockedAccess<Record> place(memory_);
    if (!place.find(id)) {
        return std::nullopt;
    }
    return place.record();
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
        // Without journals nobody changes a record but who has this lock.
        if constexpr (Record::journals != 0) {
            memory_.close(from, slot);
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
