#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/limit/window.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// Who holds a record: one of these, or who has a journal (see RecordJournals).
using Holder = std::uint16_t;

constexpr Holder set_holder = 0;  ///< who has the lock of its set; or nothing was here yet
constexpr Holder nobody = 1;

/// Bits of an id that are not kept with its record, but beside it.
using Tag = std::uint16_t;

/// A record in shared memory together with its own lock: who changes it takes over one cache line only, where
/// the record is one. The lock takes the place of the tag, the upper bits of the id's lower half; so one
/// exchange both takes the lock and sees to it that this is still the record of (the rest of) the id. All
/// zero bytes are a slot where nothing was yet.
///
/// Others read the lock and the reset while the holder is at work; these two are therefore written at once.
/// (std::atomic would not leave the record a plain one that is copied as a whole.)
template <typename Record>
class RecordSlot {
public:
    static constexpr unsigned tag_bits = 16;
    static constexpr unsigned low_bits = 64 - tag_bits;

    static constexpr Tag tag_of(const WindowId& id) noexcept { return static_cast<Tag>(id.low >> low_bits); }
    static constexpr Holder holder_of(std::uint64_t lock) noexcept {
        return static_cast<Holder>(lock >> low_bits);
    }

    /// The lock as it stands, for replace(). Acquires what the last holder wrote.
    std::uint64_t lock() const noexcept { return __atomic_load_n(&record_.id.low, __ATOMIC_ACQUIRE); }

    /// What the lock is where this id's record is held so.
    static constexpr std::uint64_t lock_of(const WindowId& id, Holder holder) noexcept {
        return with(id.low, holder);
    }

    /// Takes it from the one that `found` says, for `holder`. False: it is another lock by now, which is then
    /// in `found`. Acquires what the former holder wrote, and comes after all that the caller has written.
    bool replace(std::uint64_t& found, Holder holder) noexcept {
        return __atomic_compare_exchange_n(&record_.id.low, &found, with(found, holder), false,
                                           __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }

    Millis reset() const noexcept { return __atomic_load_n(&record_.reset, __ATOMIC_RELAXED); }

    /// Whether it is of this id, which has the tag of this slot: for the holder, and for who has the lock of
    /// the set.
    bool is_of(const WindowId& id) const noexcept {
        return record_.id.high == id.high && with(lock(), 0) == with(id.low, 0);
    }

    /// All below: for the holder.

    void give_to(Holder holder) noexcept {
        __atomic_store_n(&record_.id.low, with(lock(), holder), __ATOMIC_RELEASE);
    }

    /// Of this id.
    Record load(const WindowId& id) const noexcept {
        Record record;
        record.id = id;
        copy_from(after_id, record, record_);
        return record;
    }

    /// The id, which has this tag.
    WindowId id_of(Tag tag) const noexcept { return {record_.id.high, with(lock(), tag)}; }

    /// Of an id with this tag.
    Record load(Tag tag) const noexcept { return load(id_of(tag)); }

    /// Where it lies. Its id is not what it says: see id_of().
    const Record& in_place() const noexcept { return record_; }

    /// Of the same id.
    void store(const Record& record) noexcept {
        __atomic_store_n(&record_.reset, record.reset, __ATOMIC_RELAXED);
        copy_from(after_reset, record_, record);
    }

    /// Of another id. The holder stays.
    void store_new(const Record& record) noexcept {
        record_.id.high = record.id.high;
        __atomic_store_n(&record_.id.low, with(record.id.low, holder_of(lock())), __ATOMIC_RELAXED);
        store(record);
    }

private:
    static constexpr std::uint64_t with(std::uint64_t low, std::uint16_t upper) noexcept {
        return (low & ((std::uint64_t{1} << low_bits) - 1)) | (std::uint64_t{upper} << low_bits);
    }

    static constexpr std::size_t after_id = sizeof(WindowId);
    static constexpr std::size_t after_reset = after_id + sizeof(Millis);

    /// All that follows this offset.
    static void copy_from(std::size_t offset, Record& to, const Record& from) noexcept {
        std::memcpy(reinterpret_cast<char*>(&to) + offset, reinterpret_cast<const char*>(&from) + offset,
                    sizeof(Record) - offset);
    }

    Record record_;

    static_assert(std::is_trivially_copyable_v<Record> && std::is_standard_layout_v<Record>, "plain data");
    static_assert(offsetof(Record, id) == 0 && offsetof(Record, reset) == after_id, "in this order");
    static_assert(sizeof(Record) % 64 == 0, "whole cache lines");
};

}  // namespace rate_limit
