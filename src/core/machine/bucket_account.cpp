#include "core/machine/bucket_account.h"

#include <algorithm>

namespace rate_limit {

namespace {

/// Of a record that counts this bucket. Its `limit` is the time that the bucket takes to fill, in
/// milliseconds.
void keep(WindowRecord& record, const Bucket& bucket, Nanos full_at) noexcept {
    constexpr std::uint64_t most = (std::uint64_t{1} << 40) - 1;
    record.used = full_at;
    record.reset = millis_of(full_at);
    record.limit = std::min(static_cast<std::uint64_t>(millis_of(bucket.fill())), most);
    record.truth = Truth::local;
    record.confirmed = true;
    record.bucket = true;
}

}  // namespace

bool take(WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    Nanos full_at = record.used;
    if (!bucket.take(full_at, nanos_of(now), cost)) {
        return false;
    }
    if (cost != 0) {
        keep(record, bucket, full_at);
    }
    return true;
}

void charge(WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    if (cost == 0) {
        return;
    }
    Nanos full_at = record.used;
    bucket.charge(full_at, nanos_of(now), cost);
    keep(record, bucket, full_at);
}

void give_back(WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    Nanos full_at = record.used;
    bucket.give_back(full_at, nanos_of(now), cost);
    keep(record, bucket, full_at);
}

Window shown_of(const WindowRecord& record, const Bucket& bucket, Millis now) noexcept {
    const Nanos at = nanos_of(now);
    return {bucket.burst() - bucket.left(record.used, at), millis_of(bucket.more_at(record.used, at))};
}

Window refusal_of(const WindowRecord& record, const Bucket& bucket, Millis now, std::int64_t cost) noexcept {
    const Nanos at = nanos_of(now);
    const Nanos ready = bucket.ready_at(record.used, at, std::min(cost, bucket.burst()));
    return {bucket.burst() - bucket.left(record.used, at), millis_of(ready)};
}

}  // namespace rate_limit
