#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/limit/window.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// The place where the truth about a limit of one key is.
enum class Truth : std::uint8_t {
    local,  ///< in this record: there is nothing else
    redis,  ///< in Redis: the record is a copy, and may be forgotten
};

/// The most answers in a row that a record counts.
constexpr std::uint32_t max_same_answers = 4;

/// How large batches of tokens are: see core/machine/windows/tokens.h; and of a bucket, which begins with
/// start_pace, core/bucket/bucket_tokens.h.
constexpr std::uint32_t start_pace = 16;
constexpr std::uint32_t max_pace = 31;

/// The most tokens, or slots, that a record holds.
constexpr std::int64_t max_leased = (std::int64_t{1} << 40) - 1;

/// The subject of a record. Each kind has ids of its own.
enum class RecordKind : std::uint8_t {
    window,     ///< WindowRecord
    bucket,     ///< BucketRecord
    slots,      ///< SlotsRecord
    share,      ///< ShareRecord
    reading,    ///< ReadingRecord
    confirmed,  ///< ConfirmedRecord
    penalty,    ///< PenaltyRecord
};

/// Makes a record that says its kind alone.
template <typename Of>
void make_new(Of& record) noexcept {
    std::memset(static_cast<void*>(&record), 0, sizeof record);
    record.kind = Of::is;
}

/// One record of any kind, as the table keeps it: one cache line in shared memory. Plain data, copied as a
/// whole. Each kind is a struct of this size, which begins with `id` and `reset` and ends with `kind`, and
/// may be read as a Record, and a Record of its kind as one.
struct [[gnu::may_alias]] Record {
    static constexpr std::size_t journals = 128;  ///< see RecordJournals

    Record() noexcept { std::memset(static_cast<void*>(this), 0, sizeof *this); }

    template <typename From, typename = std::enable_if_t<std::is_same_v<decltype(From::kind), RecordKind>>>
    Record(const From& record) noexcept {  // NOLINT(google-explicit-constructor): it is a record
        static_assert(sizeof record == sizeof *this && std::is_trivially_copyable_v<From>, "a record");
        std::memcpy(static_cast<void*>(this), &record, sizeof record);
    }

    /// Becomes a new record, without a window, of the same id, unless this one is of the kind Of.
    template <typename Of>
    [[gnu::always_inline]] Of& become() noexcept {
        if (reset == 0 || kind != Of::is) {
            Of none;
            none.id = id;
            *this = none;
        }
        return reinterpret_cast<Of&>(*this);
    }

    /// This record if it is of the kind Of; else a new one, without a window, of the same id.
    template <typename Of>
    Of as() const noexcept {
        Record copy = *this;
        return copy.template become<Of>();
    }

    WindowId id;
    Millis reset;  ///< when the record says nothing any more; 0: no window
    std::array<std::uint32_t, 9> body;
    std::uint32_t rest : 29;
    RecordKind kind : 3;
};

/// Equal records have equal bytes: none has padding.
template <typename Of>
std::enable_if_t<std::is_same_v<decltype(Of::kind), RecordKind>, bool> operator==(const Of& a,
                                                                                  const Of& b) noexcept {
    return std::memcmp(&a, &b, sizeof a) == 0;
}
template <typename Of>
std::enable_if_t<std::is_same_v<decltype(Of::kind), RecordKind>, bool> operator!=(const Of& a,
                                                                                  const Of& b) noexcept {
    return !(a == b);
}

static_assert(sizeof(Record) == 64, "a record is one cache line");
static_assert(std::has_unique_object_representations_v<Record>, "equal records have equal bytes");

}  // namespace rate_limit
