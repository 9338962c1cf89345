#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "core/limit/rate.h"
#include "core/limit/window.h"
#include "core/machine/records/window_record.h"

namespace rate_limit {

/// The changes that requests and answers make to one window's record. No number here goes below zero or
/// overflows, and what belongs to one window (requests in flight, unanswered charges) never counts in the
/// next one.
///
/// `used` is a lower bound of the truth. It grows with each charge when a worker sends it; and if an answer
/// says more, `used` becomes that. Neither counts a charge twice.

/// Under which terms a request uses a limit. `proposed` is the end of a window that would open now.
struct Terms {
    Rate rate;
    Truth truth = Truth::local;
    Millis proposed = 0;
    Millis now = 0;
    std::int64_t elsewhere = 0;  ///< is used in other regions: the rate's limit is what that leaves
};

/// Whether the window is open now, and its reset is not one from a wrong clock.
bool is_open(const WindowRecord& record, std::int64_t period, Millis now) noexcept;

/// The cost that counts against the limit: used and in flight, without the tokens at hand.
inline std::int64_t taken(const WindowRecord& record) noexcept {
    const std::int64_t spent = record.used > at_hand(record) ? record.used - at_hand(record) : 0;
    const auto most = std::numeric_limits<std::int64_t>::max();
    return spent <= most - record.in_flight ? spent + record.in_flight : most;
}

/// A request of a `check_charge` limit begins. True if it is admitted: then it is in flight in the window
/// that `record.ticket` names.
bool enter(WindowRecord& record, const Terms& terms) noexcept;

/// The request ends; if it is charged, the caller has charged it before this. Only the window that the
/// request entered changes; a proposed window that no request charged is forgotten.
void leave(WindowRecord& record, Ticket ticket) noexcept;

/// Charges a local window for a `charge_refund` limit if the cost fits; true if it did. A cost of 0 opens no
/// window.
bool charge_if_fits(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// Charges a local window, even beyond its limit. A cost of 0 opens no window.
void charge(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// Refunds a cost to the local window that the ticket names. A window in which nothing is used any more is
/// forgotten.
void refund(WindowRecord& record, Ticket ticket, std::int64_t cost) noexcept;

/// A worker sends a charge to Redis; its cost, which is not 0, counts in the window that `record.ticket`
/// names after this call.
void send(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// The primary has answered this many charges that were sent under this ticket, or a worker has given them
/// up.
void count_answered(WindowRecord& record, Ticket ticket, std::uint64_t charges, Millis now) noexcept;

/// A worker sends charges again that had to wait.
void resend(WindowRecord& record, Millis now) noexcept;

/// The primary or a replica has said what Redis knows about the window. Answers may come in any order: in one
/// window `used` never decreases, and the stored reset replaces a proposed one. An answer without an open
/// window changes nothing.
///
/// `known`: the end of the window that this record had when the primary was asked; 0: it had none, or perhaps
/// a replica has answered. As long as the record has that window, another one in the answer is newer, and
/// replaces it, also if it ends earlier: the primary has lost the one that was known. Once the record has
/// another one, the answer that names the known one is older, and changes nothing. Of any other two windows
/// the later one stays.
void learn(WindowRecord& record, const Terms& terms, const Window& answer, Millis known = 0) noexcept;

/// The window that a period of the clock begins and ends, as an answer from another region tells it; `record`
/// is the memory of it there, with nothing used where no window is open. A clock there that is ahead has
/// opened the next window already: then the memory of this one stays.
Window window_elsewhere(const WindowRecord& record, const Terms& terms, const Window& answer) noexcept;

/// Remembers that. Less than is remembered counts only where for two seconds no node has said as much, since
/// replicas lag by different times.
void learn_elsewhere(WindowRecord& record, const Terms& terms, const Window& answer) noexcept;

/// Whether the truth has told this machine of the open window within the last `freshness` milliseconds.
bool is_fresh(const WindowRecord& record, Millis freshness, Millis now) noexcept;

/// The primary has answered a plain increment, which says nothing of the window's end: `answer` has the one
/// that was known. Raises `used` if the record still has that window.
void learn_count(WindowRecord& record, const Terms& terms, const Window& answer) noexcept;

/// The window as a worker remembers it for a charge that it has sent.
struct Receipt {
    static constexpr std::uint32_t no_event = ~0U;

    Ticket ticket = 0;
    std::uint32_t events = no_event;  ///< the record's after the charge was sent; no_event: several charges
};

/// The primary has answered this many charges. If no other charge was on its way since they were sent, the
/// answer replaces what the record says, even if it is less; otherwise this is as learn(). It never opens a
/// window in the record. An increment's answer names the window that was `known`.
void confirm(WindowRecord& record, const Receipt& receipt, std::uint64_t charges, std::int64_t period,
             Millis now, const Window& answer, Millis known = 0) noexcept;

/// The primary has answered a refund to the window that ends at `reset`. If that is this record's window and
/// no charge is on its way, the record takes over the answer, even though it may be older than a charge
/// answered since: if it says too little, the next reservation corrects that. An answer without that window
/// says that the window is gone. The record then forgets it; but as long as requests are in flight in it, to
/// whose clients its end was shown, that end is proposed for the next window. A charge that is on its way may
/// have opened it anew: then the record keeps it, but not as one that `lasting` says plain increments may
/// count on.
void confirm_refund(WindowRecord& record, Millis reset, const Window& answer) noexcept;

/// The primary has given back to the window what an operator wants given back, `all` that was used or a part,
/// and `answer` is what it says then; `waiting` is the cost of the charges that wait on this machine. The
/// record takes that over, as news from the primary: it opens where it was not open, and forgets what it had
/// where no window is open. After `all` the tokens at hand count for nothing any more.
void take_given_back(WindowRecord& record, const Terms& terms, const Window& answer, bool all,
                     std::int64_t waiting) noexcept;

/// Gives up to `cost` of what is used back in a window of this machine alone, which stays open.
void give_back_local(WindowRecord& record, std::int64_t cost) noexcept;

/// A charge that this machine reserved in the window that ends at `reset` is settled, and stays.
void note_lasting(WindowRecord& record, Millis reset) noexcept;

/// The primary has not the window that ends at `reset` any more, as a plain increment was told: no other is
/// sent to it.
void note_lost(WindowRecord& record, Millis reset) noexcept;

/// How many milliseconds the primary's answer to a charge may stand for a check of a window with this period,
/// in seconds, where the configuration does not say.
Millis default_freshness(std::int64_t period) noexcept;

/// Whether the primary's last answer to a charge from here may stand for a check: it is `freshness` old at
/// most, and a twentieth of the limit is left, so that a request which it admits is one that a check would
/// have admitted unless other machines have charged so much since. False now and then, whatever is known: the
/// check finds a window that was deleted and opened anew elsewhere, of which a plain increment says nothing.
bool may_stand_for_check(const WindowRecord& record, const Terms& terms, Millis freshness) noexcept;

/// Whether the primary has told this machine of the open window within the last second: it has answered a
/// charge to it, or granted tokens that are at hand.
bool was_told(const WindowRecord& record, Millis now) noexcept;

/// While a limit is reached a machine asks the primary again after so many milliseconds, by how many answers
/// have changed nothing.
constexpr std::array<std::uint32_t, max_same_answers + 1> ask_again{1000, 2000, 4000, 8000, 10'000};

/// True between one of 128 events of a window and the next: then a request asks about the window, whatever is
/// known. Which these are follows no rhythm that the events of a request could miss.
bool has_check_turn(const WindowRecord& record) noexcept;

/// Whether a twentieth of the limit is left, and the cost fits, as far as this machine knows, in a window
/// that the truth has confirmed. What other machines have charged since then is unlikely to fill that.
bool has_room(const WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// A question that the primary answers, as its worker knows it.
struct Question {
    std::uint32_t events = 0;  ///< the record's when the question was sent
    std::int64_t waiting = 0;  ///< the cost of the charges that wait on this machine
    Millis patience = 0;       ///< charges unanswered for longer were lost with their worker
    Millis known = 0;          ///< as learn() has it
};

/// The primary has answered a question: its answer replaces what the record says, even if it is less; an
/// answer without an open window says that there is none. But if a charge is on its way, or was sent or
/// answered since the question, the answer may be older than that charge: then this is as learn().
void replace(WindowRecord& record, const Terms& terms, const Window& answer,
             const Question& question) noexcept;

/// Whether the primary may still answer a charge that was sent from this machine; `patience` is as in
/// Question. Where the clock has been set back since, it counts as sent now: nobody knows when it was.
bool is_on_its_way(WindowRecord& record, Millis now, Millis patience) noexcept;

/// True once in an interval for each window: the caller that gets true then asks the primary. The interval is
/// a second, and grows to ten while the primary's answers say nothing new, as many machines may ask about the
/// same window.
bool may_ask(WindowRecord& record, Millis now) noexcept;

/// A node has just said that the limit is reached without being asked through may_ask(). No question is due
/// for a second; a later one is not put off.
void heard(WindowRecord& record, Millis now) noexcept;

}  // namespace rate_limit
