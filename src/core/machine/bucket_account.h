#pragma once

#include <cstdint>

#include "core/limit/bucket.h"
#include "core/limit/window.h"
#include "core/machine/window_record.h"

namespace rate_limit {

/// What requests do to the record of one token bucket of this machine. The record's `used` is the instant
/// when the bucket is full again, in nanoseconds, `reset` the same in milliseconds, rounded up, and `limit`
/// the longest time that any of the limits that share it takes to fill it, in milliseconds, `ticket` the low
/// half of note_life()'s. From `reset` on
/// the record says nothing that a new one would not say. A record of zeros is a full bucket.

/// Takes `cost` tokens if they are there; true if they were.
bool take(WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept;

/// Takes them in any case.
void charge(WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept;

/// Puts back as many as fit.
void give_back(WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept;

/// The primary has said at `now` when the bucket is full again: the record is a copy of that. `fill` is the
/// time that it takes to fill, for the limit that asked.
void learn_bucket(WindowRecord& record, Nanos fill, Millis now, Nanos full_at) noexcept;

/// The bucket's key in Redis lives until then at least, by this machine's clock; the longest time to fill
/// that is stored there is that of the limit that asked, or of one whose fill() the record has.
void note_life(WindowRecord& record, Millis until) noexcept;

/// The same, if a plain command may take the cost; else 0. By the primary's last word there must be room,
/// with a twentieth of the bucket to spare, whatever has been refilled since: others may have taken it. And
/// the key must outlive the bucket's being full, with a second to spare.
Millis known_life(const WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept;

/// Whether its instant is further away than any limit can have moved it: a clock was set back. Any of the
/// above puts it right, also where it takes nothing.
bool is_beyond(const WindowRecord& record, const Bucket& bucket, Millis now) noexcept;

/// The bucket is full.
void refill(WindowRecord& record) noexcept;

/// The bucket as clients are shown it: how many tokens are taken, and when there is one more.
Window shown_of(const WindowRecord& record, const Bucket& bucket, Millis now) noexcept;

/// The same for a cost that does not fit: when it will.
Window refusal_of(const WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept;

}  // namespace rate_limit
