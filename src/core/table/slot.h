#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/limit/window.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// The name of a slot's holder: one of these two, or that of a process with a journal (see RecordJournals).
using Holder = std::uint16_t;

constexpr Holder set_holder =
    0;  ///< the process that has the set's lock; also the holder of a slot never used
constexpr Holder nobody = 1;

/// The bits of an id that the set keeps beside the record, not in it.
using Tag = std::uint16_t;

/// A record in shared memory together with its own lock: a change of a record of one cache line takes only
/// that line from other processors. The lock lies in the place of the tag, the upper bits of the id's lower
/// half. So one exchange both takes the lock and checks that this is still the record of (the rest of) the
/// id. All zero bytes are a slot that was never used.
///
/// Other processes read the lock and the reset while the holder is at work; these two are therefore read and
/// written atomically. (With std::atomic members a Record would not be plain data that is copied as a whole.)
template <typename Record>
class RecordSlot {
public:
    static constexpr unsigned tag_bits = 16;
    static constexpr unsigned low_bits = 64 - tag_bits;

    static constexpr Tag tag_of(const WindowId& id) noexcept { return static_cast<Tag>(id.low >> low_bits); }
    static constexpr Holder holder_of(std::uint64_t lock) noexcept {
        return static_cast<Holder>(lock >> low_bits);
    }

    /// The lock as it is now, for replace(). Acquires what the last holder wrote.
    std::uint64_t lock() const noexcept { return __atomic_load_n(&record_.id.low, __ATOMIC_ACQUIRE); }

    /// The lock of a slot that has this id's record and this holder.
    static constexpr std::uint64_t lock_of(const WindowId& id, Holder holder) noexcept {
        return with(id.low, holder);
    }

    /// Makes `holder` the holder if the lock still is `found`; otherwise returns false and sets `found` to
    /// what the lock is. Acquires what the former holder wrote. What the caller wrote before this call is
    /// visible to others before the exchange is.
    [[gnu::always_inline]] bool replace(std::uint64_t& found, Holder holder) noexcept {
        return __atomic_compare_exchange_n(&record_.id.low, &found, with(found, holder), false,
                                           __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }

    Millis reset() const noexcept { return __atomic_load_n(&record_.reset, __ATOMIC_RELAXED); }

    /// Whether the record is this id's, which has this slot's tag. Only the holder and the owner of the set's
    /// lock may call this.
    bool is_of(const WindowId& id) const noexcept {
        return record_.id.high == id.high && with(lock(), 0) == with(id.low, 0);
    }

    /// Only the holder may call the functions below.

    void give_to(Holder holder) noexcept {
        __atomic_store_n(&record_.id.low, with(lock(), holder), __ATOMIC_RELEASE);
    }

    /// A copy of the record, whose id is this one.
    Record load(const WindowId& id) const noexcept {
        Record record;
        record.id = id;
        copy_from(after_id, record, record_);
        return record;
    }

    /// The record's id, given its tag.
    WindowId id_of(Tag tag) const noexcept { return {record_.id.high, with(lock(), tag)}; }

    /// A copy of the record, given its tag.
    Record load(Tag tag) const noexcept { return load(id_of(tag)); }

    /// The record itself, not a copy. Its member `id` means nothing: see id_of().
    const Record& in_place() const noexcept { return record_; }

    /// Replaces the record by another one of the same id.
    void store(const Record& record) noexcept {
        __atomic_store_n(&record_.reset, record.reset, __ATOMIC_RELAXED);
        copy_from(after_reset, record_, record);
    }

    /// Replaces the record by one of another id. The holder stays.
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

    /// Copies everything from this offset on.
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
