#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "core/eviction.h"
#include "core/keyed_hash.h"
#include "core/owned_lock.h"
#include "core/record_set.h"
#include "core/window.h"
#include "core/window_id.h"

namespace rate_limit {

/// Records about the windows of one machine, in memory that its processes share: bounded, no pointers inside,
/// no global lock. An id may lie in one of two sets: it goes into the left one while that is less than half
/// full of open windows, so that in a table with room most are found at the first look, else into the one
/// with fewer. A set holds 23: with that the sets fill so evenly that none is full while the table is filled
/// to less than 80%, however ids come and go.
///
/// A record is changed in its place, after the change has been written into the process's journal: who takes
/// over the lock of one who died finishes what stands there. So a change, too, is made wholly or not at all.
/// A process that finds no journal puts the changed record into a free slot instead, which costs one more
/// cache line.
///
/// Besides what RecordSet asks for, a Record says how many `journals` a table has, can be compared, is made
/// with no window (reset 0), and has an `eviction_rank(record, now)` that says what gives way when there is
/// no room.
///
/// This object is one process's view; it does not own the memory, and lives no longer. Functions given to
/// update() and change() run under the lock of the id's set: short, and without calling the table.
template <typename Record>
class RecordTable {
public:
    using Set = RecordSet<Record>;

    static constexpr std::size_t alignment = 64;

    /// How much memory holds this many records when the table is full.
    static std::size_t bytes_for(std::size_t records) noexcept;

    explicit RecordTable(const LockUser& user) noexcept : user_(user) {}

    /// Whose locks these are: to be called after fork().
    void set_user(const LockUser& user) noexcept {
        user_ = user;
        journal_ = header_ != nullptr ? claim_journal() : nullptr;
    }

    /// This process will change hardly anything any more. True if no other process that lives will, as far as
    /// they have journals; `besides` is the number of one that does not count.
    bool leave(std::uint32_t besides) noexcept;

    /// Makes an empty table of these bytes, which are all zero: most of them are not touched. The key is to
    /// be random: who knows it can choose ids that share sets. False if they are too few or not aligned.
    [[nodiscard]] bool create(void* memory, std::size_t size, const HashKey& key) noexcept;

    /// Takes up a table made by create() in memory of this very size. False if it is none.
    [[nodiscard]] bool attach(void* memory, std::size_t size) noexcept;

    /// The id of a window's identity in this table.
    WindowId id_of(std::string_view identity) const noexcept;

    /// Brings near what the next call with this id looks at first, while the caller has other things to do:
    /// of the left set the tags and the lowest slot, the one taken first.
    void prefetch(const WindowId& id) const noexcept {
        const Set& left = sets_[sets_of(id).first];
        __builtin_prefetch(&left);
        __builtin_prefetch(&left.at(0));
    }

    /// The record as it stands, perhaps of a window that has ended.
    std::optional<Record> find(const WindowId& id) noexcept;

    /// Calls fn(Record&) with a copy of this id's record, perhaps of a window that has ended, or with a
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

    /// How many records fit.
    std::size_t capacity() const noexcept { return sets() * Set::capacity; }

    std::size_t sets() const noexcept { return half_ * 2; }

    /// The two sets that may hold this id.
    std::pair<std::size_t, std::size_t> sets_of(const WindowId& id) const noexcept;

    /// Records of one set, all of one moment.
    struct Records {
        std::array<Record, Set::capacity> records;
        std::size_t count = 0;

        const Record* begin() const noexcept { return records.data(); }
        const Record* end() const noexcept { return records.data() + count; }
    };

    /// `set` is less than sets().
    Records records_of(std::size_t set) noexcept;

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
    struct alignas(64) Header {
        std::atomic<std::uint64_t> ready;  // what the layout is, once all the rest is there
        std::uint64_t size;
        HashKey key;
    };
    static_assert(sizeof(Header) == 64, "sets begin on a cache line");

    /// Changes with the layout.
    static constexpr std::uint64_t layout = 0x77696e646f777334 ^ (std::uint64_t{sizeof(Record)} << 8);

    /// What a process is about to write, and where. Its lines are its own: no other process waits for them.
    struct alignas(64) Journal {
        std::atomic<std::uint64_t> owner{0};   // as OwnedLock::word_of()
        std::atomic<std::uint64_t> target{0};  // 1 + set * Set::slots + slot, while it is written; else 0
        Record record;
    };

    /// Bytes before the sets.
    static constexpr std::size_t fixed = sizeof(Header) + Record::journals * sizeof(Journal);

    static constexpr std::size_t max_half = std::numeric_limits<std::uint32_t>::max();

    /// Where a record is or goes, locked while this lives.
    struct Place {
        LockHold left;
        LockHold right;
        Set* set = nullptr;
        unsigned slot = Set::no_slot;      // the record of the id
        unsigned replaced = Set::no_slot;  // what makes room for it, or itself
    };

    struct Victim {
        EvictionRank rank;
        unsigned slot = Set::no_slot;
    };

    /// Spreads 32 random bits evenly over `count` values.
    static std::size_t scale(std::uint32_t bits, std::size_t count) noexcept {
        return static_cast<std::size_t>((std::uint64_t{bits} * count) >> 32);
    }

    template <typename Fn>
    void edit(const WindowId& id, Place& place, Fn&& fn) {
        Record record;
        if (place.slot != Set::no_slot) {
            record = place.set->at(place.slot);
        } else {
            record.id = id;
        }
        std::forward<Fn>(fn)(record);
        record.id = id;
        if (place.slot == Set::no_slot || !(record == place.set->at(place.slot))) {
            keep(record, place);
        }
    }

    bool find_place(const WindowId& id, Place& place) noexcept;
    bool find_in(Set& set, const WindowId& id, unsigned guessed, Place& place) noexcept;
    bool find_or_make_room(const WindowId& id, Millis now, Place& place) noexcept;
    static Victim victim_of(const Set& set, Millis now) noexcept;
    static bool choose_room(Set& left, Set& right, Millis now, Place& place) noexcept;
    void keep(const Record& record, Place& place) noexcept;
    void overwrite(const Record& record, const Place& place) noexcept;

    void acquire(LockHold& hold, Set& set) noexcept {
        if (hold.acquire(set.lock(), user_)) {
            finish(set);
        }
    }
    void finish(Set& set) noexcept;
    Journal* claim_journal() noexcept;

    bool take_up(void* memory, std::size_t size) noexcept;

    LockUser user_;
    const Header* header_ = nullptr;
    Journal* journals_ = nullptr;  // Record::journals of them
    Journal* journal_ = nullptr;   // this process's
    Set* sets_ = nullptr;
    std::size_t half_ = 0;  // an id's left set is of the first half, its right one of the second
};

template <typename Record>
auto RecordTable<Record>::victim_of(const Set& set, Millis now) noexcept -> Victim {
    Victim victim;
    for (unsigned slot = 0; slot < Set::slots; ++slot) {
        if (!set.is_valid(slot)) {
            continue;
        }
        const EvictionRank rank = eviction_rank(set.at(slot), now);
        if (rank < victim.rank) {
            victim = {rank, slot};
        }
    }
    return victim;
}

template <typename Record>
std::size_t RecordTable<Record>::bytes_for(std::size_t records) noexcept {
    const std::size_t pair = std::size_t{Set::capacity} * 2;
    const std::size_t half = std::max<std::size_t>(1, (records + pair - 1) / pair);
    return fixed + half * 2 * sizeof(Set);
}

template <typename Record>
bool RecordTable<Record>::take_up(void* memory, std::size_t size) noexcept {
    if (memory == nullptr || reinterpret_cast<std::uintptr_t>(memory) % alignment != 0 ||
        size < bytes_for(1)) {
        return false;
    }
    header_ = static_cast<const Header*>(memory);
    journals_ = reinterpret_cast<Journal*>(static_cast<char*>(memory) + sizeof(Header));
    sets_ = reinterpret_cast<Set*>(static_cast<char*>(memory) + fixed);
    half_ = std::min((size - fixed) / (2 * sizeof(Set)), max_half);
    return true;
}

template <typename Record>
bool RecordTable<Record>::create(void* memory, std::size_t size, const HashKey& key) noexcept {
    if (!take_up(memory, size)) {
        return false;
    }
    auto* header = new (memory) Header{{0}, size, key};
    header->ready.store(layout, std::memory_order_release);
    journal_ = claim_journal();
    return true;
}

template <typename Record>
bool RecordTable<Record>::attach(void* memory, std::size_t size) noexcept {
    if (!take_up(memory, size)) {
        return false;
    }
    if (header_->ready.load(std::memory_order_acquire) == layout && header_->size == size) {
        journal_ = claim_journal();
        return true;
    }
    header_ = nullptr;
    sets_ = nullptr;
    half_ = 0;
    return false;
}

template <typename Record>
WindowId RecordTable<Record>::id_of(std::string_view identity) const noexcept {
    const Hash128 hash = keyed_hash(header_->key, identity);
    return {hash.high, hash.low};
}

template <typename Record>
std::pair<std::size_t, std::size_t> RecordTable<Record>::sets_of(const WindowId& id) const noexcept {
    return {scale(static_cast<std::uint32_t>(id.high), half_),
            half_ + scale(static_cast<std::uint32_t>(id.high >> 32), half_)};
}

template <typename Record>
bool RecordTable<Record>::find_in(Set& set, const WindowId& id, unsigned guessed, Place& place) noexcept {
    place.slot = set.find(id, guessed);
    place.set = &set;
    place.replaced = place.slot;
    return place.slot != Set::no_slot;
}

/// Where the id is. If it is nowhere, both its sets are left locked: nobody can put it there meanwhile.
template <typename Record>
bool RecordTable<Record>::find_place(const WindowId& id, Place& place) noexcept {
    const auto [left_index, right_index] = sets_of(id);
    Set& left = sets_[left_index];
    Set& right = sets_[right_index];
    // An id is never in both, so where it is found under the lock, it is; one lock, most of the time.
    const unsigned in_left = left.guess(id);
    const unsigned in_right = in_left == Set::no_slot ? right.guess(id) : Set::no_slot;
    if (in_left != Set::no_slot) {
        acquire(place.left, left);
        if (find_in(left, id, in_left, place)) {
            return true;
        }
        place.left.release();
    } else if (in_right != Set::no_slot) {
        acquire(place.right, right);
        if (find_in(right, id, in_right, place)) {
            return true;
        }
        place.right.release();
    }
    // Everybody locks the left one first: sets of the first half before those of the second.
    acquire(place.left, left);
    acquire(place.right, right);
    return find_in(left, id, in_left, place) || find_in(right, id, in_right, place);
}

template <typename Record>
std::optional<Record> RecordTable<Record>::find(const WindowId& id) noexcept {
    Place place;
    if (!find_place(id, place)) {
        return std::nullopt;
    }
    return place.set->at(place.slot);
}

template <typename Record>
bool RecordTable<Record>::find_or_make_room(const WindowId& id, Millis now, Place& place) noexcept {
    if (find_place(id, place)) {
        return true;
    }
    const auto [left, right] = sets_of(id);
    return choose_room(sets_[left], sets_[right], now, place);
}

/// An open window gives way only where both sets are full of them.
template <typename Record>
bool RecordTable<Record>::choose_room(Set& left, Set& right, Millis now, Place& place) noexcept {
    const unsigned in_left = left.open(now);
    const unsigned in_right = right.open(now);
    place.set = in_left >= Set::capacity / 2 && in_right < in_left ? &right : &left;
    if (place.set->size() < Set::capacity) {
        return true;
    }
    Victim victim = victim_of(*place.set, now);
    if (std::min(in_left, in_right) == Set::capacity) {
        const Victim other = victim_of(right, now);
        if (other.rank < victim.rank) {
            victim = other;
            place.set = &right;
        }
    }
    place.replaced = victim.slot;
    return victim.slot != Set::no_slot;
}

template <typename Record>
void RecordTable<Record>::keep(const Record& record, Place& place) noexcept {
    if (record.reset != 0 && place.slot != Set::no_slot && journal_ != nullptr) {
        overwrite(record, place);
    } else if (record.reset != 0) {
        place.set->put(record, place.replaced);
    } else if (place.slot != Set::no_slot) {
        place.set->drop(place.slot);
    }
}

/// From the moment the target stands in the journal the change is made, whoever finishes it. What is written
/// has only to keep its order in this process: when it has died, all of it can be seen.
template <typename Record>
void RecordTable<Record>::overwrite(const Record& record, const Place& place) noexcept {
    const auto set = static_cast<std::uint64_t>(place.set - sets_);
    journal_->record = record;
    journal_->target.store(1 + set * Set::slots + place.slot, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    place.set->overwrite(place.slot, record);
    journal_->target.store(0, std::memory_order_release);
}

/// The lock of this set was taken over. Only who holds it can have it for a target, so whatever journal has,
/// is that of one who died.
template <typename Record>
void RecordTable<Record>::finish(Set& set) noexcept {
    const std::uint64_t first = 1 + static_cast<std::uint64_t>(&set - sets_) * Set::slots;
    for (std::size_t i = 0; i < Record::journals; ++i) {
        Journal& journal = journals_[i];
        const std::uint64_t target = journal.target.load(std::memory_order_acquire);
        if (target >= first && target < first + Set::slots) {
            set.overwrite(static_cast<unsigned>(target - first), journal.record);
            journal.target.store(0, std::memory_order_release);
        }
    }
}

/// One that nobody has, or whose process died without leaving anything to finish. One process has one in each
/// table, however many views of it.
template <typename Record>
auto RecordTable<Record>::claim_journal() noexcept -> Journal* {
    const std::uint64_t self = OwnedLock::word_of(user_.self);
    if (self == 0) {
        return nullptr;
    }
    for (std::size_t i = 0; i < Record::journals; ++i) {
        if (journals_[i].owner.load(std::memory_order_relaxed) == self) {
            return journals_ + i;
        }
    }
    for (std::size_t i = 0; i < Record::journals; ++i) {
        Journal& journal = journals_[i];
        std::uint64_t owner = journal.owner.load(std::memory_order_relaxed);
        const bool free = owner == 0 || (!user_.is_alive(OwnedLock::process_of(owner)) &&
                                         journal.target.load(std::memory_order_acquire) == 0);
        if (free && journal.owner.compare_exchange_strong(owner, self, std::memory_order_acq_rel)) {
            return &journal;
        }
    }
    return nullptr;
}

template <typename Record>
bool RecordTable<Record>::leave(std::uint32_t besides) noexcept {
    if (journal_ != nullptr) {
        journal_->owner.store(0, std::memory_order_release);
        journal_ = nullptr;
    }
    return std::none_of(journals_, journals_ + Record::journals, [&](const Journal& journal) {
        const std::uint64_t owner = journal.owner.load(std::memory_order_acquire);
        const Process process = OwnedLock::process_of(owner);
        return owner != 0 && process.pid != besides && user_.is_alive(process);
    });
}

template <typename Record>
auto RecordTable<Record>::records_of(std::size_t set) noexcept -> Records {
    Set& from = sets_[set];
    Records copy;
    if (from.seems_empty()) {
        return copy;
    }
    LockHold hold;
    acquire(hold, from);
    for (unsigned slot = 0; slot < Set::slots && copy.count < copy.records.size(); ++slot) {
        if (from.is_valid(slot)) {
            copy.records.at(copy.count++) = from.at(slot);
        }
    }
    return copy;
}

}  // namespace rate_limit
