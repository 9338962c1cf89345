#include <algorithm>

#include "core/bucket/bucket_account.h"
#include "core/bucket/bucket_tokens.h"
#include "core/free_list.h"
#include "limiter/kinds/batches.h"
#include "limiter/leases/fetches.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// The last fetch of a bucket is open: those of the same terms before it are spoken for. Its record knows how
/// many of its tokens are on their way.
class BucketBatches final : public BatchKind {
public:
    bool gives_way(const Fetch& open, const Demand& more) const noexcept override;
    bool is_old(const Fetch& fetch) const noexcept override;
    void size_up(Fetches& of, Fetch& fetch, bool batched) const noexcept override;
    bool may_go_ahead(const Fetch& fetch) const noexcept override { return fetch.is_counted; }
    void end(Fetches& of, const Fetch& fetch) const noexcept override;
    void hand_out(Fetches& of, Fetch& fetch, std::int64_t granted,
                  const Window& answer) const noexcept override;
};

constexpr BucketBatches of_buckets;

TokenTerms terms_of(const Fetches& of, const Fetch& fetch) noexcept {
    TokenTerms terms = terms_of_tokens(fetch.demand);
    terms.answer = of.answer_time();
    return terms;
}

/// Hands out through the record, under one lock. False without room in the memory.
bool hand_out_here(Fetches& of, const Fetch& fetch, std::int64_t granted, const Window& answer,
                   Sharing& sharing, Dying& dying) noexcept {
    const Millis now = now_millis();
    const TokenTerms terms = terms_of(of, fetch);
    const Ticks end = end_of(fetch.asked, fetch.demand.life);
    sharing.end = end;
    return of.zone().windows().update(fetch.demand.id, now, [&](BucketRecord& record) {
        learn_bucket(record, fetch.demand.fill, now, answer.used);
        if (fetch.is_counted) {
            end_batch(record, fetch.asked, terms);
        }
        std::int64_t pool = alive(record, terms) + granted;
        sharing.end = oldest_end(record, terms, end);
        sharing.serve_from(pool);
        of.counters().add(TokenEvent::lost, take_forgotten(record, terms));
        dying = keep_batch(record, terms, {granted, end, sharing.handed_out});
        sharing.left_here = are_others(record, terms) ? 0 : at_hand(record);
        sharing.left_until = last_end(record);
    });
}

}  // namespace

const BatchKind& bucket_batches = of_buckets;

bool BucketBatches::gives_way(const Fetch& open, const Demand& more) const noexcept {
    return open.demand.sees_bucket_as(more);
}

bool BucketBatches::is_old(const Fetch& fetch) const noexcept {
    return !are_alive(end_of(fetch.asked, fetch.demand.life), fresh_ticks());
}

void BucketBatches::size_up(Fetches& of, Fetch& fetch, bool batched) const noexcept {
    Demand& demand = fetch.demand;
    const Millis now = now_millis();
    const bool ahead = demand.want == 0;
    const std::int64_t least = std::max<std::int64_t>(1, demand.want);
    const TokenTerms terms = terms_of(of, fetch);
    std::int64_t size = 0;
    fetch.is_counted = false;
    fetch.asked = terms.now;
    fetch.parts = 1;
    // Without room nothing can be kept.
    (void)of.zone().windows().update(demand.id, now, [&](BucketRecord& record) {
        if (!batched || are_others(record, terms)) {
            return;
        }
        size = begin_batch(record, terms, ahead);
        fetch.is_counted = size != 0;
        size = fetch.is_counted || ahead ? size : size_beside(record, terms);
        if (record.reset == 0) {
            expect_bucket(record, now + demand.life);
        }
    });
    if (demand.fixed()) {
        size = fetch.is_counted ? demand.batch : std::min(size, demand.batch);
    }
    // Tokens that cannot be noted cannot be given back.
    const bool can_go_back = size > least && fetch.key.size() <= DebtRecord::max_key &&
                             of.hoard().note(fetch.key, demand, end_of(fetch.asked, demand.life));
    size = can_go_back ? size : 0;
    demand.least = least;
    demand.want = std::max(least, size);
    fetch.unclaimed = demand.want;
    if (batched && size <= least && !ahead) {
        of.close(fetch);
    }
}

void BucketBatches::end(Fetches& of, const Fetch& fetch) const noexcept {
    if (fetch.is_counted) {
        of.zone().windows().change(fetch.demand.id, [&](BucketRecord& record) {
            end_batch(record, fetch.asked, terms_of(of, fetch));
        });
    }
}

void BucketBatches::hand_out(Fetches& of, Fetch& fetch, std::int64_t granted,
                             const Window& answer) const noexcept {
    Sharing sharing(fetch);
    Dying dying;
    of.counters().add(TokenEvent::fetched, granted);
    if (!hand_out_here(of, fetch, granted, answer, sharing, dying)) {
        std::int64_t left = granted;
        sharing.serve_from(left);
        dying = {left, end_of(fetch.asked, fetch.demand.life)};
    }
    (void)of.hoard().refund(fetch.key, fetch.demand, dying);
    if (sharing.left_here != 0) {
        of.hoard().keep(fetch.key, fetch.demand, sharing.left_until);
    }
    const Nanos missing = std::max<Nanos>(0, answer.used - nanos_of(now_millis()));
    const std::int64_t left_there = std::max<Nanos>(0, fetch.demand.fill - missing) / fetch.demand.token;
    const std::int64_t refused = granted == 0 ? fetch.demand.least : max_leased;
    FreeList<Fetch>::common().put_back(fetch);
    of.tell(
        sharing, [&answer](std::int64_t /*want*/) { return answer; },
        [=](const Demand& demand) { return demand.want <= left_there && demand.want < refused; });
}

}  // namespace rate_limit
