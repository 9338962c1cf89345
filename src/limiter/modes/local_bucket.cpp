#include "limiter/modes/local_bucket.h"

#include "core/bucket/bucket_account.h"
#include "limiter/kinds/bucket.h"
#include "limiter/zone.h"

namespace rate_limit {

/// Recalls only if other limits apply too: if it is alone, admit() looks at the record anyway.
bool LocalBucket::recalls_first(const AppliedLimit& /*applied*/, bool alone) const noexcept {
    return !alone;
}

Recalled LocalBucket::recall(AppliedLimit& applied, Millis now) const noexcept {
    const BucketRecord record =
        applied.zone->windows().find<BucketRecord>(applied.id).value_or(BucketRecord{});
    const Window refusal = refusal_of(record, *applied.bucket, now, applied.cost);
    if (applied.bucket->burst() - refusal.used >= applied.cost || is_beyond(record, *applied.bucket, now)) {
        return Recalled::nothing;
    }
    show(applied, refusal);
    return Recalled::used_up;
}

Admission LocalBucket::admit(AppliedLimit& applied, Millis now) const noexcept {
    const Admission admission = enter_bucket(applied, Holding::Kind::reserved, now);
    if (admission == Admission::unchecked) {
        applied.failure = "no room in \"rate_limit_zone\": enlarge it";
    }
    return admission;
}

void LocalBucket::settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept {
    const Holding holding = applied.take_holding();
    const std::int64_t charged = holding.kind == Holding::Kind::reserved ? holding.cost : 0;
    if (due < charged && holding.reset > now) {
        applied.zone->windows().change(applied.id, [&](BucketRecord& record) {
            give_back(record, *applied.bucket, now, charged - due, holding.receipt);
        });
    } else if (due > charged) {
        // Without room nothing is held, and there is nowhere to charge.
        (void)applied.zone->windows().update(applied.id, now, [&](BucketRecord& record) {
            charge(record, *applied.bucket, now, due - charged);
        });
    }
}

std::int64_t LocalBucket::leave_queue(AppliedLimit& applied, Millis now) const noexcept {
    if (applied.limit.delay == 0) {
        return Mode::leave_queue(applied, now);
    }
    Holding holding = applied.take_holding();
    holding.receipt.only_last = true;
    std::int64_t charged = holding.cost;
    applied.zone->windows().change(applied.id, [&](BucketRecord& record) {
        const Nanos before = record.full_at;
        give_back(record, *applied.bucket, now, holding.cost, holding.receipt);
        charged = record.full_at < before ? 0 : charged;
    });
    return charged;
}

const LocalBucket local_bucket;

}  // namespace rate_limit
