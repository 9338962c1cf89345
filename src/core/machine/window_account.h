#pragma once

#include <cstdint>

#include "core/limit/rate.h"
#include "core/limit/window.h"
#include "core/machine/window_record.h"

namespace rate_limit {

/// What requests and answers do to one window's record. Nothing here goes below zero or overflows, and what
/// belongs to one window (in flight, unanswered) never counts in the next one.
///
/// `used` grows with each charge when it is sent, and to any answer that says more: each of both is a lower
/// bound of the truth, and neither counts a charge twice.

/// What a limit is asked under. `proposed` is the end of a window that would open now.
struct Terms {
    Rate rate;
    Truth truth = Truth::local;
    Millis proposed = 0;
    Millis now = 0;
};

/// Open now, and not by somebody's wrong clock.
bool is_open(const WindowRecord& record, std::int64_t period, Millis now) noexcept;

/// What counts against the limit: used and in flight, without the tokens at hand.
std::int64_t taken(const WindowRecord& record) noexcept;

/// `check_charge` before the request: true if it is admitted; then it is in flight in the window that
/// `record.ticket` names.
bool enter(WindowRecord& record, const Terms& terms) noexcept;

/// The request is over, and charged before this if it is charged at all. Only the window that it entered
/// changes; a proposed one that nobody charged is forgotten.
void leave(WindowRecord& record, Ticket ticket) noexcept;

/// `charge_refund` in a local window: true if the cost fits, then it is charged. A cost of 0 opens
/// nothing.
bool charge_if_fits(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// Charges a local window, whatever its limit. A cost of 0 opens nothing.
void charge(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// Gives back to the local window that the ticket names; one where nothing is used any more is forgotten.
void refund(WindowRecord& record, Ticket ticket, std::int64_t cost) noexcept;

/// A charge, not of 0, sets out to Redis and counts in the window that `record.ticket` then names.
void send(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// The primary answered so many charges sent under this ticket, or they were given up.
void count_answered(WindowRecord& record, Ticket ticket, std::uint64_t charges, Millis now) noexcept;

/// Charges that waited set out again.
void resend(WindowRecord& record, Millis now) noexcept;

/// Redis's word on the window, the primary's or a replica's, in any order: used never goes backwards in one
/// window, a proposed reset is replaced by the stored one. An answer without an open window says nothing.
void learn(WindowRecord& record, const Terms& terms, const Window& answer) noexcept;

/// What a charge remembers of the window it was sent to.
struct Receipt {
    static constexpr std::uint32_t no_event = ~0U;

    Ticket ticket = 0;
    std::uint32_t events =
        no_event;  ///< as the record had them when it was sent; no_event: of several charges
};

/// The primary's answer to so many charges, which it settles. Where none but these was on its way since they
/// were sent, its word replaces what is remembered, even by less; else it is as learn(). It opens no window
/// here.
void confirm(WindowRecord& record, const Receipt& receipt, std::uint64_t charges, std::int64_t period,
             Millis now, const Window& answer) noexcept;

/// The primary's answer to a refund to the window that ends at `reset`, which this record knows of already:
/// taken as it is where no charge is on its way, even though one may have come after it. Too little is put
/// right by the next reservation. An answer without that window says that it is gone: it is forgotten, but as
/// long as requests are in flight in it, which have shown its end, that is proposed once more.
void confirm_refund(WindowRecord& record, Millis reset, const Window& answer) noexcept;

/// What is known about the question that the primary answers.
struct Question {
    std::uint32_t events = 0;  ///< as the record had them when it was sent
    std::int64_t waiting = 0;  ///< what charges cost that wait here
    Millis patience = 0;       ///< no charge waits longer for its answer; what does was lost with its worker
};

/// The primary's word that replaces what is remembered, even by less: `answer` without an open window says
/// that there is none. Where a charge was sent or answered since the question, or is on its way, the word may
/// be older than that charge, and is but learned.
void replace(WindowRecord& record, const Terms& terms, const Window& answer,
             const Question& question) noexcept;

/// A charge that was sent from here may still be answered: `patience` as in Question.
bool is_on_its_way(const WindowRecord& record, Millis now, Millis patience) noexcept;

/// True once in an interval for one window: whoever gets it asks the primary. The interval is a second, and
/// grows to ten while the primary's answers say nothing new: many machines may ask about the same window.
bool may_ask(WindowRecord& record, Millis now) noexcept;

/// Some node has just said that the limit is reached, unasked by may_ask(): that is fresh enough for a
/// second, but does not put off a question that was to come later than that.
void heard(WindowRecord& record, Millis now) noexcept;

}  // namespace rate_limit
