#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/limit/bucket.h"
#include "core/machine/window_record.h"
#include "core/table/table.h"

namespace rate_limit {

/// The kind of what a debt record notes about one window, together with its Redis key.
enum class DebtKind : std::uint8_t {
    charges,       ///< charges that wait until the primary takes them
    refunds,       ///< refunds that wait until the primary takes them
    tokens,        ///< tokens that this machine may hold, to be given back when they are not needed
    fixed_tokens,  ///< tokens that this machine may hold, in batches of fixed size
    slots,         ///< slots that this machine may hold (core/slots/slots_account.h): `cost` is their limit,
                   ///< `ticket` how many workers had died at the last look, `period` the tag of the limit
                   ///< (core/counts/running_counts.h), and `reset` only says how long the note is kept
};

/// True for charges and refunds, which wait until the primary takes them; false for tokens and slots, which
/// are only noted.
constexpr bool waits(DebtKind kind) noexcept {
    return kind == DebtKind::charges || kind == DebtKind::refunds;
}

/// Charges or refunds of one window that wait until its primary takes them, or a note of its tokens: what any
/// worker, also one that comes later, needs to send them. Five cache lines in shared memory. Plain data; what
/// its bytes mean is part of RecordMemory's `layout`.
struct DebtRecord {
    static constexpr std::size_t journals = 0;  ///< see RecordTable

    /// Debts with longer keys find no room here.
    static constexpr std::size_t max_key = 252;

    WindowId id;
    Millis reset = 0;           ///< the window's end; 0: nothing waits
    std::int64_t cost = 0;      ///< their sum; of a note: tokens at hand at the last look, and since
    std::uint64_t charges = 0;  ///< how many they are; of a note of a bucket's tokens: see token()
    Millis looked_at = 0;       ///< when a note was last looked at; of a bucket: see fill()
    std::uint64_t shard = 0;    ///< whose primary they are for: a digest of the names of store and shard
    Ticket ticket = 0;          ///< that the charges were sent under; of a bucket's: see mark(), life()
    std::uint32_t period = 0;   ///< seconds; of a bucket: see mark()
    std::uint16_t key_length = 0;
    WindowKind window_kind = WindowKind::first;
    DebtKind kind = DebtKind::charges;
    std::array<char, max_key> text;  // its first key_length bytes mean something

    bool of_bucket() const noexcept { return window_kind == WindowKind::bucket; }

    /// Nanoseconds that it takes to fill the token bucket of a debt, or of a note of tokens; the `cost` of a
    /// debt is in nanoseconds, too. Else 0.
    std::int64_t fill() const noexcept { return of_bucket() ? looked_at : 0; }
    void set_fill(std::int64_t fill) noexcept { looked_at = fill; }

    /// BucketReceipt's mark of what goes back to a token bucket (core/limit/bucket.h). Else 0.
    std::uint64_t mark() const noexcept {
        return has_mark() ? static_cast<std::uint64_t>(period) << 32 | ticket : 0;
    }
    void set_mark(std::uint64_t mark) noexcept {
        if (has_mark()) {
            period = static_cast<std::uint32_t>(mark >> 32);
            ticket = static_cast<Ticket>(mark);
        }
    }

    /// Nanoseconds to refill one token of a bucket, and milliseconds that its tokens live, in a note of them;
    /// they die at `reset`.
    std::int64_t token() const noexcept { return static_cast<std::int64_t>(charges); }
    Millis life() const noexcept { return ticket; }
    void set_lease(std::int64_t token, Millis life) noexcept {
        charges = static_cast<std::uint64_t>(token);
        ticket = static_cast<Ticket>(life);
    }

    /// mark_of() a bucket as its limit sees it, in a note of its tokens. Else 0.
    std::uint32_t terms() const noexcept {
        return of_bucket() && kind == DebtKind::tokens ? mark_of(token(), fill()) : 0;
    }

    bool has_mark() const noexcept { return of_bucket() && kind == DebtKind::refunds; }

    std::string_view key() const noexcept { return {text.data(), key_length}; }

    /// At most max_key bytes.
    void set_key(std::string_view key) noexcept {
        key_length = static_cast<std::uint16_t>(key.copy(text.data(), text.size()));
    }

    friend bool operator==(const DebtRecord& a, const DebtRecord& b) noexcept {
        return a.id == b.id && a.reset == b.reset && a.cost == b.cost && a.charges == b.charges &&
               a.looked_at == b.looked_at && a.shard == b.shard && a.ticket == b.ticket &&
               a.period == b.period && a.window_kind == b.window_kind && a.kind == b.kind &&
               a.key() == b.key();
    }
};
static_assert(sizeof(DebtRecord) == 320, "five cache lines");

/// A waiting charge never gives way: a worker that finds no room drops its own, and tells it. What outlives
/// its window is taken out by the worker that walks over the table, and counted. A note of tokens does not
/// give way before its window ends and, if it is of a bucket, not before a walk has given them back: they
/// die by another clock. A worker that finds no room for one takes no tokens in advance.
inline EvictionRank eviction_rank(const DebtRecord& debt, Millis now) noexcept {
    const bool needed = waits(debt.kind) || debt.of_bucket() || debt.reset > now;
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
