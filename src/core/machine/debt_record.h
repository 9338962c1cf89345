#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/machine/window_record.h"
#include "core/table/table.h"

namespace rate_limit {

/// What is noted together with a window's Redis key.
enum class DebtKind : std::uint8_t {
    charges,      ///< that charges, or refunds, wait until the primary takes them
    lease,        ///< that this machine may hold tokens, to be given back when they are not needed
    fixed_lease,  ///< the same, of batches of fixed size
};

/// Charges of one window that wait until its primary takes them, or tokens of it: what any worker, also one
/// that comes later, needs to send them. Five cache lines in shared memory. Plain data.
struct DebtRecord {
    static constexpr std::size_t journals = 0;  ///< see RecordTable

    /// Longer Redis keys do not wait here.
    static constexpr std::size_t max_key = 252;

    WindowId id;
    Millis reset = 0;           ///< of the window; 0: nothing waits
    std::int64_t cost = 0;      ///< of all of them; tokens at hand when they were last looked at
    std::uint64_t charges = 0;  ///< how many they are
    Millis looked_at = 0;       ///< when tokens were
    std::uint64_t shard = 0;    ///< whose primary they are for: a digest of the names of store and shard
    Ticket ticket = 0;          ///< under which they were sent
    std::uint32_t period = 0;   ///< seconds
    std::uint16_t key_length = 0;
    WindowKind kind = WindowKind::first;
    DebtKind note = DebtKind::charges;
    std::array<char, max_key> text;  // of which the first key_length bytes mean something

    std::string_view key() const noexcept { return {text.data(), key_length}; }

    /// At most max_key bytes.
    void set_key(std::string_view key) noexcept {
        key_length = static_cast<std::uint16_t>(key.copy(text.data(), text.size()));
    }

    friend bool operator==(const DebtRecord& a, const DebtRecord& b) noexcept {
        return a.id == b.id && a.reset == b.reset && a.cost == b.cost && a.charges == b.charges &&
               a.looked_at == b.looked_at && a.shard == b.shard && a.ticket == b.ticket &&
               a.period == b.period && a.kind == b.kind && a.note == b.note && a.key() == b.key();
    }
};
static_assert(sizeof(DebtRecord) == 320, "five cache lines");

/// No charge that waits gives way: who finds no room keeps it elsewhere. What outlives its window is taken
/// out by whoever walks over the table, and counted. Nor does a note of tokens before its window ends: who
/// finds no room takes none in advance.
inline EvictionRank eviction_rank(const DebtRecord& charge, Millis now) noexcept {
    const bool needed = charge.note == DebtKind::charges || charge.reset > now;
    return {needed ? Hold::firm : Hold::none, 0};
}

/// Where refunds to the window of `id` that ends at `reset` wait: apart from charges, and from refunds to
/// other windows of that id. Of a place it gives the id again.
constexpr WindowId refund_debt_of(const WindowId& id, Millis reset) noexcept {
    return {id.high ^ static_cast<std::uint64_t>(reset) * 0x9e3779b97f4a7c15, ~id.low};
}

/// Where tokens of the window are noted; likewise.
constexpr WindowId token_debt_of(const WindowId& id) noexcept {
    return {~id.high, ~id.low};
}

using DebtTable = RecordTable<DebtRecord>;

extern template class RecordTable<DebtRecord>;

}  // namespace rate_limit
