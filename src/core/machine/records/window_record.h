#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/limit/rate.h"
#include "core/machine/records/record.h"

namespace rate_limit {

/// Names one window of one identity for as long as a request may run: the low half of the reset with which
/// this machine opened it. It stays the same if the truth turns out to have another reset for this window;
/// the next window has another ticket.
using Ticket = std::uint32_t;

/// One window as one machine remembers it.
struct [[gnu::may_alias]] WindowRecord {
    static constexpr RecordKind is = RecordKind::window;
    static constexpr std::uint32_t max_in_flight = (1U << 21) - 1;
    static constexpr std::uint32_t max_unanswered = (1U << 23) - 1;

    WindowRecord() noexcept { make_new(*this); }

    WindowId id;
    Millis reset;  ///< the window's end; 0: no window

    /// A lower bound: what the truth said last, and what this machine has charged since.
    std::int64_t used;

    /// The limit as last seen; decides which records may be evicted.
    std::uint64_t limit : 40;

    /// Counts the times that a charge was sent or answered, or that an answer changed this record, modulo
    /// 2^20. If it has changed since a question was sent, the answer may be outdated.
    std::uint64_t events : 20;

    bool answered : 1;  ///< the primary has answered a charge to this window, at asked_or_told

    /// How many answers of the primary in a row said what this record said already. Stays at
    /// max_same_answers.
    std::uint64_t same_answers : 3;

    std::uint64_t leased : 40;  ///< tokens granted to this machine and not spent; at most `used`

    /// How many charges sent from this machine the primary has not answered yet. Once it has reached
    /// max_unanswered, it is not known exactly any more, and stays there.
    std::uint64_t unanswered : 23;

    bool lasting : 1;  ///< a charge reserved in this window is settled: no refund can empty it

    /// When the primary was last asked about the window, or for tokens, or answered a charge; or, of a window
    /// in another region, when a node there last told as much as is known: the low half of Millis.
    std::uint32_t asked_or_told;

    /// When a charge was last sent or answered, or tokens were granted: the low half of Millis.
    std::uint32_t changed;

    Ticket ticket;
    std::uint32_t in_flight : 21;  ///< requests admitted into this window that are not settled yet
    Truth truth : 1;
    bool confirmed : 1;      ///< false: the reset is this machine's proposal
    bool fetching : 1;       ///< a worker fetches tokens ahead
    std::uint32_t pace : 5;  ///< of batches: see core/machine/windows/tokens.h; outlives the window
    RecordKind kind : 3;
};
static_assert(sizeof(WindowRecord) == sizeof(Record), "a record");
static_assert(std::has_unique_object_representations_v<WindowRecord>, "equal records have equal bytes");
static_assert(max_limit < (std::int64_t{1} << 40), "a limit fits its bits");

/// Tokens granted to this machine and not spent.
inline std::int64_t at_hand(const WindowRecord& record) noexcept {
    return static_cast<std::int64_t>(record.leased);
}

}  // namespace rate_limit
