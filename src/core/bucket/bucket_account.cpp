#include "core/bucket/bucket_account.h"

#include <algorithm>

#include "core/limit/clocks.h"

#include "core/machine/windows/window_account.h"

namespace rate_limit {

namespace {

static_assert(max_fill / nanos_in_milli < Millis{1} << 40, "BucketRecord::limit has 40 bits");

/// For buckets that take longer to fill, the record's 20-bit clock could wrap while the key still lives.
constexpr Nanos longest_plain = 86'400'000 * nanos_in_milli;

/// A command is there within this time, but where a server or the way to it is ill.
constexpr Millis longest_way = 100;

/// The steady clock in a record.
constexpr std::uint32_t clock_shift = 10;
constexpr std::uint32_t clock_mask = (1U << 20) - 1;

/// Milliseconds until the steady clock has these bits, up to six days; less than 0 if it has passed them.
Millis until_clock(std::uint64_t clock, std::uint32_t ticks) noexcept {
    const std::uint32_t ahead = (static_cast<std::uint32_t>(clock) - (ticks >> clock_shift)) & clock_mask;
    const Millis units = ahead <= clock_mask / 2 ? Millis{ahead} : Millis{ahead} - clock_mask - 1;
    return units * (1 << clock_shift) - (ticks & ((1U << clock_shift) - 1));
}

/// The longest time that any of the limits that share the record takes to fill the bucket, in milliseconds.
Millis longest_of(const BucketRecord& record, Nanos fill, Millis now) noexcept {
    const Millis own = millis_of(fill);
    return record.reset > now ? std::max(own, static_cast<Millis>(record.longest)) : own;
}

/// The instant of the record. One further away than any limit could have moved it was written by a clock that
/// was ahead: it stands for a bucket that is empty now. One that is ahead only as clocks of workers are apart
/// stays: if each of them put it nearer, the bucket would be refilled by as much, each time.
Nanos full_at_of(const BucketRecord& record, const Bucket& bucket, Millis now) noexcept {
    const Millis longest = longest_of(record, bucket.fill(), now);
    const bool beyond = record.full_at > nanos_of(now + longest + clocks_apart);
    return beyond ? nanos_of(now + longest) : record.full_at;
}

void set_returned(BucketRecord& record, std::uint64_t returned) noexcept {
    record.returned = returned;
    record.counts = true;
}

/// So much less is missing, and nobody has taken it.
void count_returned(BucketRecord& record, Nanos less) noexcept {
    if (record.counts && less > 0) {
        set_returned(record, record.returned + static_cast<std::uint64_t>(less));
    }
}

/// An instant that is too far away is cut off: no mark of what was taken before is worth anything any more.
void count_cut(BucketRecord& record, bool cut, Millis now) noexcept {
    if (cut) {
        count_returned(record, record.full_at - nanos_of(now));
    }
}

/// Begins the count of a bucket that is here alone, far away from that of a record that was forgotten, whose
/// marks are worth nothing here.
void begin_count(BucketRecord& record, Millis now) noexcept {
    if (record.truth == Truth::local && !record.counts) {
        set_returned(record, static_cast<std::uint64_t>(now) * 0x9e37'79b9'7f4a'7c15);
    }
}

void keep(BucketRecord& record, Nanos fill, Millis now, Nanos full_at) noexcept {
    record.longest = static_cast<std::uint64_t>(longest_of(record, fill, now));
    record.full_at = full_at;
    record.reset = millis_of(full_at);
    record.confirmed = true;
}

}  // namespace

bool take(BucketRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    Nanos full_at = full_at_of(record, bucket, now);
    const bool cut = full_at < record.full_at;
    const bool taken = bucket.take(full_at, nanos_of(now), cost);
    if ((taken && cost != 0) || cut) {
        begin_count(record, now);
        count_cut(record, cut, now);
        keep(record, bucket.fill(), now, full_at);
    }
    return taken;
}

void charge(BucketRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    if (cost == 0) {
        return;
    }
    Nanos full_at = full_at_of(record, bucket, now);
    begin_count(record, now);
    count_cut(record, full_at < record.full_at, now);
    bucket.charge(full_at, nanos_of(now), cost);
    keep(record, bucket.fill(), now, full_at);
}

void give_back(BucketRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    Nanos full_at = full_at_of(record, bucket, now);
    bucket.give_back(full_at, nanos_of(now), cost);
    if (record.truth == Truth::local) {
        count_returned(record, record.full_at - full_at);
    }
    keep(record, bucket.fill(), now, full_at);
}

void give_back(BucketRecord& record, const Bucket& bucket, Millis now, std::int64_t cost,
               const BucketReceipt& receipt) noexcept {
    const Nanos full_at = full_at_of(record, bucket, now);
    count_cut(record, full_at < record.full_at, now);
    const Nanos all = std::min(cost, bucket.burst()) * bucket.token();
    const Nanos worth = record.counts
                            ? worth_of(receipt,
                                       {record.returned, nanos_of(static_cast<Millis>(record.longest)),
                                        nanos_of(now), full_at},
                                       all)
                            : 0;
    const Nanos back = std::min(worth, std::max<Nanos>(full_at - nanos_of(now), 0));
    if (!receipt.only_last) {
        count_returned(record, back);
    }
    keep(record, bucket.fill(), now, full_at - back);
}

BucketReceipt receipt_of(const BucketRecord& record, Millis now) noexcept {
    if (!record.counts) {
        return {};
    }
    return {static_cast<std::uint64_t>(record.full_at) + record.returned, nanos_of(now)};
}

void learn_bucket(BucketRecord& record, Nanos fill, Millis now, Nanos full_at) noexcept {
    // The server's clock and this one are not read at the same moment.
    if (full_at < record.full_at - nanos_of(clocks_apart)) {
        record.same_answers = 0;
    }
    // Only a limit with a longer fill, which shares the bucket, can have moved it so far.
    const Nanos ahead = full_at - nanos_of(now);
    keep(record, ahead > fill + nanos_of(clocks_apart) ? ahead : fill, now, full_at);
    record.truth = Truth::redis;
    record.answered = true;
    record.asked = static_cast<std::uint32_t>(now);
}

void expect_bucket(BucketRecord& record, Millis until) noexcept {
    record.reset = until;
    record.truth = Truth::redis;
}

bool is_to_be_asked(const BucketRecord& record, Millis now) noexcept {
    return !record.answered || !record.confirmed ||
           since(record.asked, now) >= ask_again.at(record.same_answers);
}

bool ask_about(BucketRecord& record, Millis now) noexcept {
    if (!is_to_be_asked(record, now)) {
        return false;
    }
    record.answered = true;
    record.asked = static_cast<std::uint32_t>(now);
    record.same_answers = std::min<std::uint32_t>(record.same_answers + 1U, max_same_answers);
    return true;
}

bool was_told(const BucketRecord& record, Millis now) noexcept {
    constexpr Millis second = 1000;
    return record.confirmed && record.answered && since(record.asked, now) < second;
}

void note_stored(BucketRecord& record, std::uint32_t until, std::uint64_t returned) noexcept {
    if (at_hand(record) != 0 || record.fetching != 0) {
        return;  // a limit in `lease` shares the bucket, and needs the room
    }
    record.stored_or_younger = (until >> clock_shift) & clock_mask;
    record.under_way = 0;
    set_returned(record, returned);
}

void note_returned(BucketRecord& record, std::uint64_t returned) noexcept {
    if (record.truth == Truth::redis && record.counts && at_hand(record) == 0 && record.fetching == 0) {
        set_returned(record, returned);
    }
}

StoredBucket known_stored(const BucketRecord& record, const Bucket& bucket, Millis now, std::uint32_t ticks,
                          std::int64_t cost) noexcept {
    const Millis told = now - since(record.asked, now);
    const bool is_copy = record.answered && record.truth == Truth::redis && record.counts;
    const std::int64_t under_way = static_cast<std::int64_t>(record.under_way);
    if (!is_copy || bucket.fill() > longest_plain ||
        static_cast<Millis>(record.longest) != millis_of(bucket.fill()) || cost <= 0 ||
        cost > bucket.burst() - under_way || cost > BucketRecord::max_under_way - under_way ||
        record.reset <= now - stored_longer(bucket.fill())) {
        return {};
    }
    const Nanos taking = (under_way + cost) * bucket.token();
    const Nanos missing = std::max<Nanos>(record.full_at - nanos_of(told), 0);
    const Millis life = until_clock(record.stored_or_younger, ticks);
    const Millis full_in = std::max<Millis>(record.reset - now, 0) + millis_of(taking);
    const bool room = missing <= bucket.fill() - bucket.fill() / 20 - taking;
    if (!room || life - full_in < 1000) {
        return {};
    }
    return {life, record.returned, record.full_at - nanos_of(now) >= nanos_of(longest_way)};
}

void send_plain(BucketRecord& record, std::int64_t cost) noexcept {
    record.under_way = static_cast<std::uint32_t>(record.under_way + cost);
}

void end_plain(BucketRecord& record, std::int64_t cost) noexcept {
    record.under_way =
        static_cast<std::uint32_t>(record.under_way - std::min<std::int64_t>(cost, record.under_way));
}

bool is_beyond(const BucketRecord& record, const Bucket& bucket, Millis now) noexcept {
    return full_at_of(record, bucket, now) < record.full_at;
}

void refill(BucketRecord& record, Millis now) noexcept {
    count_returned(record, record.full_at - nanos_of(now));
    record.full_at = 0;
    record.reset = 0;
}

Window shown_of(const BucketRecord& record, const Bucket& bucket, Millis now) noexcept {
    const Nanos at = nanos_of(now);
    const Nanos full_at = full_at_of(record, bucket, now);
    return {bucket.burst() - bucket.left(full_at, at), millis_of(bucket.more_at(full_at, at))};
}

Window refusal_of(const BucketRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    const Nanos at = nanos_of(now);
    const Nanos full_at = full_at_of(record, bucket, now);
    const Nanos ready = bucket.ready_at(full_at, at, std::min(cost, bucket.burst()));
    return {bucket.burst() - bucket.left(full_at, at), millis_of(ready)};
}

}  // namespace rate_limit
