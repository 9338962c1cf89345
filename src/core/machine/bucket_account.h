#pragma once

#include <cstdint>

#include "core/limit/bucket.h"
#include "core/limit/window.h"
#include "core/machine/window_record.h"

namespace rate_limit {

/// What requests do to the record of one token bucket of this machine. The record's `used` is the instant
/// when the bucket is full again, in nanoseconds, `reset` the same in milliseconds, rounded up, and `limit`
/// the longest time that any of the limits that share it takes to fill it, in milliseconds. From `reset` on
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
