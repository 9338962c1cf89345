#pragma once

#include <cstdint>

#include "limiter/kinds/kind.h"
#include "limiter/loop.h"

namespace rate_limit {

/// The penalties of limits with `penalty=`, beside their windows and buckets, whichever mode counts: what the
/// machine remembers of them, and how it learns of those that others have begun. All but the first two are
/// for limits that have them.

/// Makes the request's part in the penalty of the limit, whose place is found, if the limit has penalties.
/// False without memory.
bool prepare_penalty(RequestMemory& memory, AppliedLimit& applied) noexcept;

/// An operator resets the window or bucket: its penalty ends, here and in its store.
void end_penalty(const KeyWindow& of, Zone& zone) noexcept;

/// Whether this machine knows of a penalty that runs: then the verdict gets its end, and the window as far as
/// it is known. Else the part says whether the store must be asked: it has not said lately that none runs.
bool recall_penalty(AppliedLimit& applied, Millis now) noexcept;

/// Asks any node; of a bucket the primary.
void ask_penalty(AppliedLimit& applied, Answer::Owner& owner) noexcept;

/// Takes in the answer, if the store was asked. True if a penalty runs, as recall_penalty(). Without an
/// answer none does.
bool take_penalty(AppliedLimit& applied, Millis now) noexcept;

/// The limit has rejected the request: begins a penalty, unless one runs, or the cost never fits, or requests
/// of this machine that are not answered yet fill the limit. Lets the store know, and now and then asks it.
/// True if one has begun.
bool penalize(AppliedLimit& applied, Millis now) noexcept;

/// The limit has let the request in, which counts as pending from now on where it is charged already; and it
/// does not any more, and was `charged` so much in the end.
void hold_pending(AppliedLimit& applied, Millis now) noexcept;
void release_pending(AppliedLimit& applied, std::int64_t charged, Millis now) noexcept;

}  // namespace rate_limit
