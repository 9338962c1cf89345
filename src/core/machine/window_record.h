#pragma once

#include <cstddef>
#include <cstdint>

#include "core/limit/rate.h"
#include "core/limit/window.h"
#include "core/table/eviction.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// Where the truth of a window is.
enum class Truth : std::uint8_t {
    local,  ///< here: the record is all there is
    redis,  ///< in Redis: the record is a copy, and may be forgotten
};

/// Names one window of one identity for as long as a request may run: the low half of the reset it was opened
/// with here. That stays when the truth names another reset for the same window; the next window's differs.
using Ticket = std::uint32_t;

/// One window as one machine remembers it: one cache line in shared memory, copied as a whole. Plain data.
struct WindowRecord {
    static constexpr std::size_t journals = 128;  ///< see RecordTable
    static constexpr std::uint32_t max_in_flight = (1U << 24) - 1;
    static constexpr std::uint32_t max_unanswered = (1U << 24) - 1;
    static constexpr std::uint32_t max_same_answers = 4;
    static constexpr std::int64_t max_leased = (std::int64_t{1} << 40) - 1;
    static constexpr std::uint32_t start_pace = 16;  ///< see core/machine/tokens.h
    static constexpr std::uint32_t max_pace = 31;

    WindowRecord() noexcept
        : limit(0),
          events(0),
          same_answers(0),
          leased(0),
          unanswered(0),
          in_flight(0),
          truth(Truth::local),
          confirmed(false),
          fetching(false),
          pace(start_pace) {}

    WindowId id;
    Millis reset = 0;                ///< the window's end; 0: no window
    std::int64_t used = 0;           ///< at least: what the truth said last, and what was charged here since
    std::uint64_t limit : 40;        ///< as last seen: which records may be evicted depends on it
    std::uint64_t events : 21;       ///< how many charges were sent from here and answered, modulo its size
    std::uint64_t same_answers : 3;  ///< how often in a row the primary, asked to confirm what is known here,
                                     ///< has said just that; at its most it stays there
    std::uint64_t leased : 40;       ///< tokens granted to this machine and not spent: at most `used`
    std::uint64_t unanswered : 24;  ///< charges sent from here that the primary has not answered; at its most
                                    ///< it stays there
    std::uint32_t asked =
        0;  ///< when the primary was last asked to confirm, or for tokens; low half of Millis
    std::uint32_t changed =
        0;  ///< when the last charge was sent or answered, or tokens were granted; likewise
    Ticket ticket = 0;
    std::uint32_t in_flight : 24;  ///< requests admitted into this window that are not charged yet
    Truth truth : 1;
    bool confirmed : 1;      ///< false: the reset is this machine's proposal
    bool fetching : 1;       ///< somebody fetches tokens ahead
    std::uint32_t pace : 5;  ///< how large batches of tokens are; outlives the window

    friend bool operator!=(const WindowRecord& a, const WindowRecord& b) noexcept { return !(a == b); }
    friend bool operator==(const WindowRecord& a, const WindowRecord& b) noexcept {
        return a.id == b.id && a.reset == b.reset && a.used == b.used && a.limit == b.limit &&
               a.events == b.events && a.same_answers == b.same_answers && a.leased == b.leased &&
               a.unanswered == b.unanswered && a.asked == b.asked && a.changed == b.changed &&
               a.ticket == b.ticket && a.in_flight == b.in_flight && a.truth == b.truth &&
               a.confirmed == b.confirmed && a.fetching == b.fetching && a.pace == b.pace;
    }
};
static_assert(sizeof(WindowRecord) == 64, "a record is one cache line");
static_assert(max_limit < (std::int64_t{1} << 40), "a limit fits its bits");

/// Tokens granted to this machine and not spent.
inline std::int64_t at_hand(const WindowRecord& record) noexcept {
    return static_cast<std::int64_t>(record.leased);
}

/// Closed windows go first, then copies of what Redis holds, then local windows with the least used part.
EvictionRank eviction_rank(const WindowRecord& record, Millis now) noexcept;

}  // namespace rate_limit
