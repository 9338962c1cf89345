#pragma once

#include <cstdint>

#include "core/rate.h"
#include "core/window.h"
#include "core/window_record.h"

namespace rate_limit {

/// What requests and answers do to one window's record. Nothing here goes below zero or overflows, and what
/// belongs to one window (in flight, undelivered) never counts in the next one.

/// What a limit is asked under. `proposed` is the end of a window that would open now.
struct Terms {
    Rate rate;
    Truth truth = Truth::local;
    Millis proposed = 0;
    Millis now = 0;
};

/// Open now, and not by somebody's wrong clock.
bool is_open(const WindowRecord& record, std::int64_t period, Millis now) noexcept;

/// What counts against the limit: used, undelivered and in flight.
std::int64_t taken(const WindowRecord& record) noexcept;

/// `check_charge` before the request: true if it is admitted; then it is in flight in the window that
/// `record.ticket` names.
bool enter(WindowRecord& record, const Terms& terms) noexcept;

/// The request is over. Only the window that it entered changes.
void leave(WindowRecord& record, Ticket ticket) noexcept;

/// `charge_refund` in a local window: true if the cost fits, then it is charged. A cost of 0 fits always and
/// opens nothing.
bool charge_if_fits(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// Charges a local window, whatever its limit. A cost of 0 opens nothing.
void charge(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// Gives back to the window that the ticket names.
void refund(WindowRecord& record, Ticket ticket, std::int64_t cost) noexcept;

/// A charge that is on its way to Redis, counted in the window that `record.ticket` then names.
void send(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// It is there, or given up. Only the window that it was sent under changes.
void settle(WindowRecord& record, Ticket ticket, std::int64_t cost) noexcept;

/// Redis's word on the window, the primary's or a replica's, in any order: used never goes backwards in one
/// window, a proposed reset is replaced by the stored one. An answer without an open window says nothing.
void learn(WindowRecord& record, const Terms& terms, const Window& answer) noexcept;

/// The primary's word, asked for to replace what is remembered, even by less: `answer` without an open window
/// says that nothing is used.
void replace(WindowRecord& record, const Terms& terms, const Window& answer) noexcept;

}  // namespace rate_limit
