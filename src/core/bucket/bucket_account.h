#pragma once

#include <cstdint>

#include "core/limit/bucket.h"
#include "core/limit/window.h"
#include "core/machine/records/bucket_record.h"

namespace rate_limit {

/// The changes that requests and answers make to the record of one token bucket.

/// Takes `cost` tokens if they are there; true if they were.
bool take(BucketRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept;

/// Takes them in any case.
void charge(BucketRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept;

/// The receipt for what has just been taken.
BucketReceipt receipt_of(const BucketRecord& record, Millis now) noexcept;

/// Puts back as many as fit, whenever they were taken.
void give_back(BucketRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept;

/// Puts back what `cost` tokens are still worth: worth_of().
void give_back(BucketRecord& record, const Bucket& bucket, Millis now, std::int64_t cost,
               const BucketReceipt& receipt) noexcept;

/// The primary has said at `now` when the bucket is full again: the record is a copy of that. `fill` is the
/// time that it takes to fill, for the limit that asked.
void learn_bucket(BucketRecord& record, Nanos fill, Millis now, Nanos full_at) noexcept;

/// The primary is about to be asked for the first time. Until its answer nothing is known of the bucket;
/// until then the record does not give way as one that has ended.
void expect_bucket(BucketRecord& record, Millis until) noexcept;

/// Whether it is time to ask the primary again about a bucket that has too little: after a second, then ever
/// more, up to ten, while nothing goes back to it. ask_about() notes that a request does so, if it is time.
bool is_to_be_asked(const BucketRecord& record, Millis now) noexcept;
bool ask_about(BucketRecord& record, Millis now) noexcept;

/// Whether the primary has told this machine of the bucket within the last second.
bool was_told(const BucketRecord& record, Millis now) noexcept;

/// A bucket's key in Redis, as a machine knows it.
struct StoredBucket {
    Millis life = 0;             ///< it lives so long at least; 0: it is not known
    std::uint64_t returned = 0;  ///< has ever been given back there, or less
    bool filling = false;        ///< it is not full yet when a command comes there, unless more is given back
};

/// The primary's script has said so: the key lives until then at least, by the steady clock that workers
/// share. The longest time to fill that is stored there is that of the limit that asked, or of one whose
/// fill() the record has.
void note_stored(BucketRecord& record, std::uint32_t until, std::uint64_t returned) noexcept;

/// An answer that does not let the key live on, such as to a refund, has said how much was given back.
void note_returned(BucketRecord& record, std::uint64_t returned) noexcept;

/// The bucket's key, if a plain command may take the cost; else nothing is known. By the primary's last word
/// there must be room, with a twentieth of the bucket to spare, whatever has been refilled since: others may
/// have taken it. And the key must outlive the bucket's being full, with a second to spare. Buckets that take
/// longer than a day to fill are left out: their requests are few. `ticks` as note_stored() has them.
StoredBucket known_stored(const BucketRecord& record, const Bucket& bucket, Millis now, std::uint32_t ticks,
                          std::int64_t cost) noexcept;

/// A plain command is under way that takes the cost; and is not any more. What a worker that was killed had
/// under way stays until the script's next word.
void send_plain(BucketRecord& record, std::int64_t cost) noexcept;
void end_plain(BucketRecord& record, std::int64_t cost) noexcept;

/// Whether its instant is further away than any limit can have moved it: a clock was set back. Any of the
/// above puts it right, also where it takes nothing.
bool is_beyond(const BucketRecord& record, const Bucket& bucket, Millis now) noexcept;

/// The bucket is full. What was taken before is worth nothing any more.
void refill(BucketRecord& record, Millis now) noexcept;

/// The bucket as clients are shown it: how many tokens are taken, and when there is one more.
Window shown_of(const BucketRecord& record, const Bucket& bucket, Millis now) noexcept;

/// The bucket as clients are shown it when the cost does not fit: with when it will.
Window refusal_of(const BucketRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept;

}  // namespace rate_limit
