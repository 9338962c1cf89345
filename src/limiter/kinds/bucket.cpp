#include "limiter/kinds/bucket.h"

#include <algorithm>

#include "core/bucket/bucket_account.h"
#include "core/bucket/bucket_tokens.h"
#include "limiter/kinds/window.h"
#include "limiter/zone.h"

namespace rate_limit {

constexpr NamedKind token_buckets{
    "bucket",        WindowKind::bucket, buckets_kind,  ", a token bucket", "a bucket that is not full",
    "a full bucket", "buckets",          &first_windows};

void show_bucket(AppliedLimit& applied, const BucketRecord& record, std::int64_t holds, Millis now) noexcept {
    const Window shown = shown_of(record, *applied.bucket, now);
    std::int64_t free = holds;
    if (applied.life != 0) {
        const Bucket& bucket = *applied.bucket;
        free += alive(record, terms_of_tokens(bucket.token(), bucket.fill(), applied.life, ticks_now()));
    }
    show(applied, {std::max<std::int64_t>(0, shown.used - free), shown.reset});
}

void note_delay(AppliedLimit& applied, Nanos full_at, Millis now) noexcept {
    const std::int64_t at_once = applied.limit.delay;
    if (at_once != 0 && applied.cost != 0) {  // what takes nothing stands in no queue
        applied.delay = millis_of(applied.bucket->delay(full_at, nanos_of(now), at_once));
    }
}

Admission enter_bucket(AppliedLimit& applied, Holding::Kind kind, Millis now) noexcept {
    const Bucket& bucket = *applied.bucket;
    bool admitted = false;
    Millis full_at = 0;
    BucketReceipt receipt;
    const bool room = applied.zone->windows().update(applied.id, now, [&](BucketRecord& record) {
        const std::int64_t taken = shown_of(record, bucket, now).used;
        record.truth = applied.store == nullptr ? Truth::local : Truth::redis;
        admitted = take(record, bucket, now, applied.cost);
        full_at = record.reset;
        receipt = receipt_of(record, now);
        if (admitted && kind == Holding::Kind::reserved) {
            note_delay(applied, record.full_at, now);
        }
        show(applied, admitted ? Window{taken, shown_of(record, bucket, now).reset}
                               : refusal_of(record, bucket, now, applied.cost));
    });
    if (!room) {
        return Admission::unchecked;
    }
    if (!admitted) {
        return Admission::refused;
    }
    applied.holding = {kind, applied.cost, 0, full_at, receipt};
    return Admission::admitted;
}

Admission BucketsKind::enter_unasked(AppliedLimit& applied, std::int64_t /*need*/,
                                     Millis now) const noexcept {
    return enter_bucket(applied, Holding::Kind::in_flight, now);
}

/// Without room nothing is remembered.
void BucketsKind::take_in(AppliedLimit& applied, const Window& answer, Millis now) const noexcept {
    const Bucket& bucket = *applied.bucket;
    BucketRecord told;
    learn_bucket(told, bucket.fill(), now, answer.used);
    show(applied, refusal_of(told, bucket, now, applied.cost));
    (void)applied.zone->windows().update(applied.id, now, [&](BucketRecord& record) {
        learn_bucket(record, bucket.fill(), now, answer.used);
    });
}

bool BucketsKind::show_remembered(AppliedLimit& applied, Millis now) const noexcept {
    const auto record = applied.zone->windows().find<BucketRecord>(applied.id);
    if (applied.store != nullptr && !(record && record->confirmed)) {
        return false;
    }
    show_bucket(applied, record.value_or(BucketRecord{}), 0, now);
    return true;
}

bool BucketsKind::show_refusal(AppliedLimit& applied, Millis now) const noexcept {
    if (!show_remembered(applied, now)) {
        return false;
    }
    const auto record = applied.zone->windows().find<BucketRecord>(applied.id);
    applied.verdict.window.reset =
        refusal_of(record.value_or(BucketRecord{}), *applied.bucket, now, applied.cost).reset;
    return true;
}

bool BucketsKind::is_known(AppliedLimit& applied, Millis now) const noexcept {
    const auto record = applied.zone->windows().find<BucketRecord>(applied.id);
    return applied.store == nullptr || (record && was_told(*record, now));
}

void BucketsKind::show_unchanged(AppliedLimit& applied, const Window* answer, Millis now) const noexcept {
    BucketRecord seen = applied.zone->windows().find<BucketRecord>(applied.id).value_or(BucketRecord{});
    if (answer != nullptr) {
        learn_bucket(seen, applied.bucket->fill(), now, answer->used);
    }
    show_bucket(applied, seen, 0, now);
}

Remembered BucketsKind::remembered(const KeyWindow& of, const Record& record, Millis now) const noexcept {
    const auto known = record.as<BucketRecord>();
    return {{shown_of(known, *of.bucket, now).used, known.reset}, known.under_way, alive(known, ticks_now())};
}

Window BucketsKind::shown(const KeyWindow& of, const Window& answer, Millis now) const noexcept {
    BucketRecord told;
    learn_bucket(told, of.bucket->fill(), now, answer.used);
    return remembered(of, told, now).window;
}

void BucketsKind::give_back(const KeyWindow& of, WindowTable& table, std::int64_t cost, Window& before,
                            Window& after) const noexcept {
    table.change(of.place.id, [&](BucketRecord& record) {
        const Millis now = now_millis();
        before = remembered(of, record, now).window;
        // Limits of larger bursts may share it.
        cost == GivingBack::all_of_it ? refill(record, now)
                                      : rate_limit::give_back(record, *of.bucket, now, cost);
        after = remembered(of, record, now).window;
    });
}

}  // namespace rate_limit
