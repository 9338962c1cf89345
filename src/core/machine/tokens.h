#pragma once

#include <cstdint>

#include "core/limit/window.h"
#include "core/machine/window_account.h"
#include "core/machine/window_record.h"

namespace rate_limit {

/// Tokens that the primary granted to this machine in advance, in the record of their window. They are spent
/// in that window alone, and count in its `used` from the moment of their grant.
///
/// How many are taken at a time adapts, as Rockset proposed and left open ("How we built a distributed rate
/// limiter"): from a thousandth of the limit, half as many again when a batch is used up quickly, less than
/// half when half of the tokens at hand come back.

/// A batch that lasts less is used up quickly; tokens are looked at so often. Milliseconds, of a period in
/// seconds.
Millis lease_interval(std::int64_t period) noexcept;

/// A batch is at most one of so many parts of what is left of the limit: all machines share the last tokens.
constexpr int parts_of_rest = 4;

/// How many tokens to take now, at least 1: never more than a twentieth of the limit nor a quarter of what is
/// left of it, as far as is known here, and towards the window's end no more than will be spent.
std::int64_t batch_size(const WindowRecord& record, const Terms& terms) noexcept;

/// Spends so many tokens: true if they are there, and within the limit, which may be less than the one they
/// were granted under.
bool consume(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept;

/// True for one caller when so few are left that more should be fetched before they are needed. It calls
/// begin_fetch() next, and grant() or end_fetch() whatever comes of it.
bool may_fetch_ahead(const WindowRecord& record, const Terms& terms) noexcept;

/// Tokens are asked for; returns how many to take at a time: with the few that are left, a batch.
std::int64_t begin_fetch(WindowRecord& record, const Terms& terms) noexcept;

/// Nothing came of it.
void end_fetch(WindowRecord& record) noexcept;

/// The primary's answer: it granted so many, perhaps none, and `answer` is the window then; `question` as in
/// replace(). False if the tokens are of no window that is open here: the caller has them still.
bool grant(WindowRecord& record, const Terms& terms, const Window& answer, std::int64_t tokens,
           const Question& question) noexcept;

/// Tokens that were not needed after all go back to the window that ends at `reset`. False: that is not open
/// here any more.
bool give_back(WindowRecord& record, Millis reset, std::int64_t period, Millis now,
               std::int64_t tokens) noexcept;

/// What one look at the tokens at hand goes by.
struct Look {
    std::int64_t before = 0;  ///< tokens at hand at the last look, and granted since
    Millis since = 0;         ///< when that was
    Millis now = 0;
    std::int64_t period = 0;  ///< seconds
    bool fixed = false;       ///< the size of batches is
};

/// How many of the tokens at hand should be given back: those of which nothing was spent since the last look,
/// or that will not be spent at that speed: in three intervals, or before the window ends. Of batches of
/// fixed size only the latter. None if they are less than half, or if some were granted a moment ago and
/// nothing is known of the speed.
std::int64_t surplus(const WindowRecord& record, const Look& look) noexcept;

/// Takes them out of the record, to be given back; batches become so small that they last three intervals,
/// and less than half at least. Returns how many that were.
std::int64_t take_surplus(WindowRecord& record, const Look& look) noexcept;

}  // namespace rate_limit
