#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/limit/bucket.h"
#include "core/machine/records/window_record.h"
#include "core/table/table.h"

namespace rate_limit {

/// The kind of what a debt record notes about one window, together with its Redis key.
enum class DebtKind : std::uint8_t {
    charges,        ///< charges that wait until the primary takes them
    refunds,        ///< refunds that wait until the primary takes them
    tokens,         ///< tokens that this machine may hold, to be given back when they are not needed
    fixed_tokens,   ///< tokens that this machine may hold, in batches of fixed size
    slots,          ///< slots that this machine may hold (core/slots/slots_account.h)
    bucket_tokens,  ///< tokens of a bucket that this machine may hold
};

/// True for charges and refunds, which wait until the primary takes them; false for tokens and slots, which
/// are only noted.
constexpr bool waits(DebtKind kind) noexcept {
    return kind == DebtKind::charges || kind == DebtKind::refunds;
}

/// Charges or refunds that wait for a window.
struct OwedToWindow {
    std::int64_t cost = 0;         ///< their sum
    std::uint64_t charges = 0;     ///< how many they are
    Ticket ticket = 0;             ///< that the charges were sent under
    std::uint32_t period = 0;      ///< seconds
    std::uint64_t only_grows = 0;  ///< 1: the window's count, as their mode gives nothing back; else 0
};

/// Charges or refunds that wait for a token bucket. Begins as OwedToWindow does.
struct OwedToBucket {
    Nanos cost = 0;  ///< of refilling
    std::uint64_t charges = 0;
    Nanos fill = 0;          ///< the time that it takes to fill
    std::uint64_t mark = 0;  ///< BucketReceipt's, of what goes back (core/limit/bucket.h); 0: charges
};

/// Tokens of a window that are at hand.
struct NotedTokens {
    std::int64_t count = 0;  ///< at the last look, and granted since
    Millis looked_at = 0;    ///< when that was
    std::uint32_t period = 0;
};

/// Tokens of a bucket that are at hand; they die at the note's `reset`.
struct NotedBucketTokens {
    Nanos token = 0;  ///< to refill one
    Nanos fill = 0;   ///< the time that the bucket takes to fill
    Millis life = 0;  ///< of a token
    std::uint32_t period = 0;
};

/// Slots that are held, or may be.
struct NotedSlots {
    std::int64_t limit = 0;
    Millis looked_at = 0;      ///< when the last look was
    std::uint64_t times = 0;   ///< how often they were noted
    std::uint32_t deaths = 0;  ///< how many workers had died at the last look
    std::uint32_t tag = 0;     ///< the limit's (core/counts/running_counts.h)
};

/// A debt: charges or refunds of one key until its primary takes them, or a note of tokens or slots held:
/// what any worker, also one that comes later, needs to send it. Five cache lines in shared memory. Plain
/// data; what its bytes mean is part of RecordMemory's `layout`.
struct DebtRecord {
    static constexpr std::size_t journals = 0;  ///< see RecordTable

    /// Debts with longer keys find no room here.
    static constexpr std::size_t max_key = 252;

    DebtRecord() noexcept : to_bucket{} {}

    WindowId id;

    /// The window's end, or when a bucket's debts or tokens are worth nothing any more, or how long slots are
    /// noted; 0: nothing waits.
    Millis reset = 0;

    std::uint64_t shard = 0;  ///< whose primary it is for: a digest of the names of store and shard

    /// The one that `kind` says; of charges and refunds the one that `window_kind` says.
    union {
        OwedToWindow to_window;
        OwedToBucket to_bucket;
        NotedTokens tokens;
        NotedBucketTokens bucket_tokens;
        NotedSlots slots;
    };

    std::uint16_t key_length = 0;
    WindowKind window_kind = WindowKind::first;
    DebtKind kind = DebtKind::charges;
    std::array<char, max_key> text;  // its first key_length bytes mean something

    bool of_window_tokens() const noexcept {
        return kind == DebtKind::tokens || kind == DebtKind::fixed_tokens;
    }

    /// The sum of what waits; of a bucket in nanoseconds. Else 0.
    std::int64_t cost() const noexcept { return waits(kind) ? to_window.cost : 0; }

    /// How many charges or refunds wait. Else 0.
    std::uint64_t charges() const noexcept { return waits(kind) ? to_window.charges : 0; }

    /// When a note of tokens of a window, or of slots, was last looked at. Else 0.
    Millis looked_at() const noexcept {
        return kind == DebtKind::slots ? slots.looked_at : of_window_tokens() ? tokens.looked_at : 0;
    }

    /// mark_of() a bucket as its limit sees it, in a note of its tokens. Else 0.
    std::uint32_t terms() const noexcept {
        return kind == DebtKind::bucket_tokens ? mark_of(bucket_tokens.token, bucket_tokens.fill) : 0;
    }

    std::string_view key() const noexcept { return {text.data(), key_length}; }

    /// At most max_key bytes.
    void set_key(std::string_view key) noexcept {
        key_length = static_cast<std::uint16_t>(key.copy(text.data(), text.size()));
    }

    friend bool operator==(const DebtRecord& a, const DebtRecord& b) noexcept {
        constexpr std::size_t body = offsetof(DebtRecord, text) - sizeof(WindowId);
        return a.id == b.id && std::memcmp(&a.reset, &b.reset, body) == 0 && a.key() == b.key();
    }
};
static_assert(sizeof(DebtRecord) == 320, "five cache lines");

/// A waiting charge never gives way: a worker that finds no room drops its own, and tells it. What outlives
/// its window is taken out by the worker that walks over the table, and counted. A note of tokens does not
/// give way before its window ends and, if it is of a bucket, not before a walk has given them back: they
/// die by another clock. A worker that finds no room for one takes no tokens in advance.
inline EvictionRank eviction_rank(const DebtRecord& debt, Millis now) noexcept {
    const bool needed = waits(debt.kind) || debt.kind == DebtKind::bucket_tokens || debt.reset > now;
    return {needed ? EvictionTier::never : EvictionTier::ended, 0};
}

/// The id of the note of a window's tokens or slots. Tokens of a bucket have one apart from those of other
/// `terms`, as DebtRecord::terms() has them.
constexpr WindowId note_id_of(const WindowId& id, std::uint32_t terms = 0) noexcept {
    return {~id.high ^ terms * std::uint64_t{0xd6e8feb86659fd93}, ~id.low};
}

/// The id of the record of what waits for a window: its charges, apart from refunds, which are to the window
/// that ends at `reset` alone. Each `shard`, named as in DebtRecord, has another, for a reload may have moved
/// the key; all hash slots of a cluster have the same.
constexpr WindowId waiting_id_of(DebtKind kind, const WindowId& id, Millis reset,
                                 std::uint64_t shard) noexcept {
    constexpr unsigned slot_bits = 14;
    const std::uint64_t high = id.high ^ (shard >> slot_bits) * std::uint64_t{0xff51afd7ed558ccd};
    return kind == DebtKind::charges
               ? WindowId{high, id.low}
               : WindowId{high ^ static_cast<std::uint64_t>(reset) * 0x9e3779b97f4a7c15, ~id.low};
}

/// The window's own id. `id` is the record's: what the functions above do to an id, they undo when it is done
/// again.
inline WindowId window_id_of(const WindowId& id, const DebtRecord& debt) noexcept {
    return waits(debt.kind) ? waiting_id_of(debt.kind, id, debt.reset, debt.shard)
                            : note_id_of(id, debt.terms());
}

using DebtTable = RecordTable<DebtRecord>;

extern template class RecordTable<DebtRecord>;

}  // namespace rate_limit
