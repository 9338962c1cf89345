#pragma once

#include <cstdint>

#include "core/limit/window.h"
#include "core/machine/records/window_record.h"
#include "core/machine/windows/window_account.h"

namespace rate_limit {

/// Tokens that the primary granted to this machine in advance, kept in the record of their window. Requests
/// can spend them only in that window. Redis counts them in its `used` from the moment it grants them.
///
/// The number of tokens that a worker fetches at a time, a batch, adapts to the demand, as Rockset proposed
/// and left open ("How we built a distributed rate limiter"). A key that was not asked for in the last
/// seconds is cold: a request takes what it costs, no more. A batch begins with the second of two requests
/// within an eighth of a lease_interval(), or the third of three within one after another: with a thousandth
/// of the limit, or what is spent in four intervals at that speed. It more than doubles when it is used up
/// quickly, and shrinks to less than half when half of the tokens at hand are refunded.

/// A batch that does not last this long was used up quickly. Workers look for tokens to refund once in this
/// time, too. In milliseconds, for a window of this period, in seconds.
Millis lease_interval(std::int64_t period) noexcept;

/// A batch is at most what is left of the limit, divided by this: so all machines share the last tokens.
constexpr int parts_of_rest = 4;

/// How many tokens to fetch now, at least 1. Never more than a twentieth of the limit, nor than a quarter of
/// what is left of it, as far as this machine knows; towards the window's end no more than requests will
/// spend.
std::int64_t batch_size(const WindowRecord& record, const Terms& terms) noexcept;

/// Spends this many tokens. False, and none are spent, if there are fewer at hand, or if the caller's limit
/// does not allow it: that may be lower than the limit that the tokens were granted under.
bool consume(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// True if so few tokens are left that the caller should fetch more before they are needed, and no other
/// caller does so: less than an eighth of a batch, or fewer than requests spend in twice the time `answer`
/// that the primary takes to answer, at the speed since the last batch; in milliseconds, 0: it is not known.
/// The caller then calls begin_fetch() and, whatever the fetch brings, grant() or end_fetch().
bool may_fetch_ahead(const WindowRecord& record, const Terms& terms, Millis answer) noexcept;

/// A fetch begins. Returns how many tokens to fetch: a batch, less the few that are left. `pace`: the least,
/// where no window is open here yet but a batch is on its way.
std::int64_t begin_fetch(WindowRecord& record, const Terms& terms, std::uint32_t pace = 0) noexcept;

/// The pace of a batch, where the last one, of this pace, was asked for so many milliseconds ago.
std::uint32_t next_pace(std::uint32_t pace, Millis ago, const Rate& rate) noexcept;

/// True if the request had better take its cost alone, by a call of its own: it costs as much as a batch, or
/// more, in a window that is open. Notes that it asks.
bool reserve_alone(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// The fetch ended without an answer.
void end_fetch(WindowRecord& record) noexcept;

/// The fetch was answered: the primary granted `tokens`, perhaps none, and `answer` is the window after that;
/// `question` is as in replace(). False if the tokens belong to a window that is not open in this record: the
/// caller still has to spend or refund them.
bool grant(WindowRecord& record, const Terms& terms, const Window& answer, std::int64_t tokens,
           const Question& question) noexcept;

/// Gives tokens that a request did not spend after all back to the window that ends at `reset`. False if that
/// window is not open in this record any more.
bool give_back(WindowRecord& record, Millis reset, std::int64_t period, Millis now,
               std::int64_t tokens) noexcept;

/// The numbers that a look at the tokens at hand starts from.
struct Look {
    std::int64_t before = 0;  ///< the tokens at hand at the last look, and those granted since
    Millis since = 0;         ///< when the last look was
    Millis now = 0;
    std::int64_t period = 0;  ///< the window's, in seconds
    bool fixed = false;       ///< whether the configuration fixes the size of batches
};

/// How many of the tokens at hand should be refunded to Redis: those that requests will not spend, at the
/// speed since the last look, in the next three intervals or before the window ends, whichever is sooner.
/// With batches of fixed size only those that will not be spent before the window ends. 0 if that is less
/// than half of the tokens at hand; and if none were spent since the last look, but some were granted a
/// moment ago, so that the speed is not known yet, or seven tokens or fewer are left that were granted in the
/// last three intervals.
std::int64_t surplus(const WindowRecord& record, const Look& look) noexcept;

/// Takes the surplus out of the record, for the caller to refund, and returns how many tokens it is. Batches
/// become so small that one lasts three intervals, and less than half as large as before.
std::int64_t take_surplus(WindowRecord& record, const Look& look) noexcept;

}  // namespace rate_limit
