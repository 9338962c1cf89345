#include "limiter/kinds/notes.h"

#include "core/bucket/bucket_tokens.h"
#include "limiter/concurrency/holds.h"
#include "limiter/zone.h"
#include "redis/keys/routes.h"

namespace rate_limit {

namespace {

/// The tokens at hand that the note is about.
std::int64_t tokens_of(Zone& zone, const Seen& seen) noexcept {
    const Record record = zone.windows().find(seen.id).value_or(Record{});
    const auto bucket = record.as<BucketRecord>();  // the record is one of the two; the other is empty
    const auto window = record.as<WindowRecord>();
    return (bucket.mark == seen.terms ? at_hand(bucket) : 0) +
           (window.reset == seen.reset ? at_hand(window) : 0);
}

}  // namespace

void count_seen(Zone& zone, const Seen& seen) noexcept {
    if (seen.kind == DebtKind::slots) {
        const auto record = zone.windows().find<SlotsRecord>(seen.id);
        const SlotsTerms terms{0, Truth::redis, Holds::ttl, 0, now_millis()};
        zone.running_counts().see(seen.tag, record ? static_cast<std::uint64_t>(held(*record, terms)) : 0);
        return;
    }
    zone.debt_counts().see(Routes::counted_as(seen.shard), waits(seen.kind) ? seen.charges : 0,
                           waits(seen.kind) ? 0 : tokens_of(zone, seen));
}

bool lives(Zone& zone, const DebtRecord& note) noexcept {
    const auto record = zone.windows().find<BucketRecord>(window_id_of(note.id, note));
    return record && record->mark == note.terms() && alive(*record, fresh_ticks()) != 0;
}

void lose_dead(Zone& zone, const DebtRecord& note) noexcept {
    if (note.kind == DebtKind::bucket_tokens) {
        const NotedBucketTokens& noted = note.bucket_tokens;
        const TokenTerms terms = terms_of_tokens(noted.token, noted.fill, noted.life, fresh_ticks());
        zone.windows().change(window_id_of(note.id, note),
                              [&](BucketRecord& record) { (void)take_dying(record, terms, false); });
    }
}

}  // namespace rate_limit
