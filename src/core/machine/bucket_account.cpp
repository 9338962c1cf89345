#include "core/machine/bucket_account.h"

#include <algorithm>

namespace rate_limit {

namespace {

static_assert(max_fill / nanos_in_milli < Millis{1} << 40, "WindowRecord::limit has 40 bits");

/// The longest time that any of the limits that share the record takes to fill the bucket, in milliseconds.
Millis longest_of(const WindowRecord& record, Nanos fill, Millis now) noexcept {
    const Millis own = millis_of(fill);
    return record.bucket && record.reset > now ? std::max(own, static_cast<Millis>(record.limit)) : own;
}

/// Workers read the clock once in a turn of their event loops, so that one may be behind another. If that put
/// the instant nearer, the bucket would be refilled by as much, each time.
constexpr Millis clocks_apart = 1000;

/// The instant of the record. One further away than any limit could have moved it was written by a clock that
/// was ahead: it stands for a bucket that is empty now.
Nanos full_at_of(const WindowRecord& record, const Bucket& bucket, Millis now) noexcept {
    const Millis longest = longest_of(record, bucket.fill(), now);
    const bool beyond = record.used > nanos_of(now + longest + clocks_apart);
    return beyond ? nanos_of(now + longest) : record.used;
}

void keep(WindowRecord& record, Nanos fill, Millis now, Nanos full_at) noexcept {
    record.limit = static_cast<std::uint64_t>(longest_of(record, fill, now));
    record.used = full_at;
    record.reset = millis_of(full_at);
    record.confirmed = true;
    record.bucket = true;
}

}  // namespace

bool take(WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    Nanos full_at = full_at_of(record, bucket, now);
    const bool taken = bucket.take(full_at, nanos_of(now), cost);
    if ((taken && cost != 0) || full_at < record.used) {
        keep(record, bucket.fill(), now, full_at);
    }
    return taken;
}

void charge(WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    if (cost == 0) {
        return;
    }
    Nanos full_at = full_at_of(record, bucket, now);
    bucket.charge(full_at, nanos_of(now), cost);
    keep(record, bucket.fill(), now, full_at);
}

void give_back(WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    Nanos full_at = full_at_of(record, bucket, now);
    bucket.give_back(full_at, nanos_of(now), cost);
    keep(record, bucket.fill(), now, full_at);
}

void learn_bucket(WindowRecord& record, Nanos fill, Millis now, Nanos full_at) noexcept {
    keep(record, fill, now, full_at);
    record.truth = Truth::redis;
    record.answered = true;
    record.asked = static_cast<std::uint32_t>(now);
}

void note_life(WindowRecord& record, Millis until) noexcept {
    record.ticket = static_cast<Ticket>(until);
}

Millis known_life(const WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    const Millis told = now - static_cast<std::uint32_t>(static_cast<std::uint32_t>(now) - record.asked);
    const bool is_copy = record.bucket && record.answered && record.truth == Truth::redis;
    if (!is_copy || record.ticket == 0 || static_cast<Millis>(record.limit) != millis_of(bucket.fill()) ||
        cost <= 0 || cost > bucket.burst() || record.reset <= now - stored_longer(bucket.fill())) {
        return 0;
    }
    const Nanos taking = cost * bucket.token();
    const Nanos missing = std::max<Nanos>(record.used - nanos_of(told), 0);
    const Millis left = static_cast<std::int32_t>(record.ticket - static_cast<Ticket>(now));
    const Millis full_in = std::max<Millis>(record.reset - now, 0) + millis_of(taking);
    const bool room = missing <= bucket.fill() - bucket.fill() / 20 - taking;
    return room && left - full_in >= 1000 ? now + left : 0;
}

bool is_beyond(const WindowRecord& record, const Bucket& bucket, Millis now) noexcept {
    return full_at_of(record, bucket, now) < record.used;
}

void refill(WindowRecord& record) noexcept {
    record.used = 0;
    record.reset = 0;
}

Window shown_of(const WindowRecord& record, const Bucket& bucket, Millis now) noexcept {
    const Nanos at = nanos_of(now);
    const Nanos full_at = full_at_of(record, bucket, now);
    return {bucket.burst() - bucket.left(full_at, at), millis_of(bucket.more_at(full_at, at))};
}

Window refusal_of(const WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    const Nanos at = nanos_of(now);
    const Nanos full_at = full_at_of(record, bucket, now);
    const Nanos ready = bucket.ready_at(full_at, at, std::min(cost, bucket.burst()));
    return {bucket.burst() - bucket.left(full_at, at), millis_of(ready)};
}

}  // namespace rate_limit
