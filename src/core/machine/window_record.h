#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/limit/rate.h"
#include "core/limit/window.h"
#include "core/table/table.h"

namespace rate_limit {

/// The place where the truth about a window is.
enum class Truth : std::uint8_t {
    local,  ///< in this record: there is nothing else
    redis,  ///< in Redis: the record is a copy, and may be forgotten
};

/// Names one window of one identity for as long as a request may run: the low half of the reset with which
/// this machine opened it. It stays the same if the truth turns out to have another reset for this window;
/// the next window has another ticket.
using Ticket = std::uint32_t;

/// One window as one machine remembers it: one cache line in shared memory. Plain data, copied as a whole.
struct WindowRecord {
    static constexpr std::size_t journals = 128;  ///< see RecordJournals
    static constexpr std::uint32_t max_in_flight = (1U << 23) - 1;
    static constexpr std::uint32_t max_unanswered = (1U << 23) - 1;
    static constexpr std::uint32_t max_same_answers = 4;
    static constexpr std::int64_t max_leased = (std::int64_t{1} << 40) - 1;
    static constexpr std::uint32_t start_pace = 16;  ///< see core/machine/tokens.h
    static constexpr std::uint32_t max_pace = 31;

    WindowRecord() noexcept
        : limit(0),
          events(0),
          answered(false),
          same_answers(0),
          leased(0),
          unanswered(0),
          lasting(false),
          in_flight(0),
          bucket(false),
          truth(Truth::local),
          confirmed(false),
          fetching(false),
          pace(start_pace) {}

    WindowId id;
    Millis reset = 0;  ///< the window's end; 0: no window

    /// A lower bound: what the truth said last, and what this machine has charged since.
    std::int64_t used = 0;

    /// The limit as last seen; decides which records may be evicted. For a bucket, the milliseconds that it
    /// takes to fill.
    std::uint64_t limit : 40;

    /// Counts the times that a charge was sent or answered, or that an answer changed this record, modulo
    /// 2^20. If it has changed since a question was sent, the answer may be outdated. Of a bucket whose
    /// tokens are at hand see bucket_tokens.h.
    std::uint64_t events : 20;

    bool answered : 1;  ///< `asked` is when the primary last answered a charge to this window

    /// How many answers of the primary in a row said what this record said already. Stays at
    /// max_same_answers.
    std::uint64_t same_answers : 3;

    std::uint64_t leased : 40;  ///< tokens granted to this machine and not spent; at most `used`

    /// How many charges sent from this machine the primary has not answered yet. Once it has reached
    /// max_unanswered, it is not known exactly any more, and stays there.
    std::uint64_t unanswered : 23;

    /// A charge reserved in this window is settled: no refund can empty it. Of a bucket see
    /// bucket_account.h.
    bool lasting : 1;

    /// When the primary was last asked about the window, or for tokens: the low half of Millis.
    std::uint32_t asked = 0;

    /// When a charge was last sent or answered, or tokens were granted: the low half of Millis. This and
    /// `ticket` mean something else in a bucket's record: see
    /// bucket_account.h and bucket_tokens.h.
    std::uint32_t changed = 0;

    Ticket ticket = 0;
    std::uint32_t in_flight : 23;  ///< requests admitted into this window that are not settled yet; of a
                                   ///< bucket see bucket_account.h
    bool bucket : 1;               ///< it is a token bucket: see bucket_account.h
    Truth truth : 1;
    bool confirmed : 1;      ///< false: the reset is this machine's proposal
    bool fetching : 1;       ///< a worker fetches tokens ahead
    std::uint32_t pace : 5;  ///< how large batches of tokens are: see tokens.h; outlives the window

    friend bool operator!=(const WindowRecord& a, const WindowRecord& b) noexcept { return !(a == b); }
    friend bool operator==(const WindowRecord& a, const WindowRecord& b) noexcept {
        return std::memcmp(&a, &b, sizeof a) == 0;  // it has no padding
    }
};
static_assert(sizeof(WindowRecord) == 64, "a record is one cache line");
static_assert(std::has_unique_object_representations_v<WindowRecord>, "equal records have equal bytes");
static_assert(max_limit < (std::int64_t{1} << 40), "a limit fits its bits");

/// Tokens granted to this machine and not spent.
inline std::int64_t at_hand(const WindowRecord& record) noexcept {
    return static_cast<std::int64_t>(record.leased);
}

/// Which records the table evicts first: those whose windows have ended, then copies of what Redis knows,
/// those without tokens before those with tokens, then local windows. In each group the least used comes
/// first. Records that requests or answers still have to change, and local windows that are used up, are
/// never evicted.
EvictionRank eviction_rank(const WindowRecord& record, Millis now) noexcept;

using WindowTable = RecordTable<WindowRecord>;

extern template class RecordTable<WindowRecord>;

}  // namespace rate_limit
