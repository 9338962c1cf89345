#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/keyed_hash.h"
#include "core/owned_lock.h"
#include "core/window_record.h"
#include "core/window_set.h"

namespace rate_limit {

/// The windows of one machine, in memory that its processes share: bounded, no pointers inside, no global
/// lock. An id may lie in one of two sets, and goes into the one with fewer open windows. A set holds 23:
/// with that the sets fill so evenly that none is full while the table is filled to less than 80%, however
/// ids come and go.
///
/// This object is one process's view; it does not own the memory, and lives no longer. Functions given to
/// update() and change() run under the lock of the id's set: short, and without calling the table.
class WindowTable {
public:
    static constexpr std::size_t alignment = 64;

    /// How much memory holds this many windows when the table is full.
    static std::size_t bytes_for(std::size_t windows) noexcept;

    explicit WindowTable(const LockUser& user) noexcept : user_(user) {}

    /// Whose locks these are: to be called after fork().
    void set_user(const LockUser& user) noexcept { user_ = user; }

    /// Makes an empty table of these bytes. The key is to be random: who knows it can choose ids that share
    /// sets. False if they are too few or not aligned.
    [[nodiscard]] bool create(void* memory, std::size_t size, const HashKey& key) noexcept;

    /// Takes up a table made by create() in memory of this very size. False if it is none.
    [[nodiscard]] bool attach(void* memory, std::size_t size) noexcept;

    /// The id of a window's identity in this table.
    WindowId id_of(std::string_view identity) const noexcept;

    /// The record as it stands, perhaps of a window that has ended.
    std::optional<WindowRecord> find(const WindowId& id) noexcept;

    /// Calls fn(WindowRecord&) with a copy of this id's record, perhaps of a window that has ended, or with a
    /// new one without a window, and keeps what it leaves; without a window (reset 0) nothing is kept. What
    /// it leaves unchanged costs no write. False, and fn is not called: a new id, and no room for it.
    template <typename Fn>
    [[nodiscard]] bool update(const WindowId& id, Millis now, Fn&& fn) {
        Place place;
        if (!find_or_make_room(id, now, place)) {
            return false;
        }
        edit(id, place, std::forward<Fn>(fn));
        return true;
    }

    /// The same for an id that has a record. False, and fn is not called: it has none.
    template <typename Fn>
    bool change(const WindowId& id, Fn&& fn) {
        Place place;
        if (!find_place(id, place)) {
            return false;
        }
        edit(id, place, std::forward<Fn>(fn));
        return true;
    }

    /// How many windows fit.
    std::size_t capacity() const noexcept { return sets() * WindowSet::capacity; }

    std::size_t sets() const noexcept { return half_ * 2; }

    /// The two sets that may hold this id.
    std::pair<std::size_t, std::size_t> sets_of(const WindowId& id) const noexcept;

    /// Records of one set, all of one moment.
    struct Records {
        std::array<WindowRecord, WindowSet::capacity> records;
        std::size_t count = 0;

        const WindowRecord* begin() const noexcept { return records.data(); }
        const WindowRecord* end() const noexcept { return records.data() + count; }
    };

    /// For walks over the table: `set` is less than sets().
    Records records_of(std::size_t set) noexcept;

private:
    struct Header;

    /// Where a record is or goes, locked while this lives.
    struct Place {
        LockHold left;
        LockHold right;
        WindowSet* set = nullptr;
        unsigned slot = WindowSet::no_slot;      // the record of the id
        unsigned replaced = WindowSet::no_slot;  // what makes room for it, or itself
    };

    template <typename Fn>
    void edit(const WindowId& id, Place& place, Fn&& fn) {
        WindowRecord old;
        old.id = id;
        if (place.slot != WindowSet::no_slot) {
            old = place.set->at(place.slot);
        }
        WindowRecord record = old;
        std::forward<Fn>(fn)(record);
        record.id = id;
        if (record == old) {
            return;
        }
        keep(record, place);
    }

    bool find_place(const WindowId& id, Place& place) noexcept;
    bool find_in(WindowSet& set, const WindowId& id, Place& place) noexcept;
    bool find_or_make_room(const WindowId& id, Millis now, Place& place) noexcept;
    static bool choose_room(WindowSet& left, WindowSet& right, Millis now, Place& place) noexcept;
    static void keep(const WindowRecord& record, Place& place) noexcept;

    bool take_up(void* memory, std::size_t size) noexcept;

    LockUser user_;
    const Header* header_ = nullptr;
    WindowSet* sets_ = nullptr;
    std::size_t half_ = 0;  // an id's left set is of the first half, its right one of the second
};

}  // namespace rate_limit
