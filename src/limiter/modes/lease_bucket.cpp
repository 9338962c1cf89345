#include "limiter/modes/lease_bucket.h"

#include <algorithm>

#include "core/bucket/bucket_account.h"
#include "core/bucket/bucket_tokens.h"
#include "limiter/kinds/bucket.h"
#include "limiter/modes/spent_tokens.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// An empty bucket is left alone until it has this many tokens, half of what is refilled in their life:
/// machines would fetch each token by itself else.
std::int64_t needed(const AppliedLimit& applied) noexcept {
    return std::max(applied.cost, applied.kept / 2);
}

bool leases(const AppliedLimit& applied) noexcept {
    return applied.life != 0 && applied.cost != 0;
}

void hold_bucket_tokens(AppliedLimit& applied, std::int64_t tokens, Ticks end) noexcept {
    applied.holding = {tokens != 0 ? Holding::Kind::tokens : Holding::Kind::nothing, tokens, 0, 0, {}, end};
}

bool has_needed(const AppliedLimit& applied, const BucketRecord& record) noexcept {
    const Window known = shown_of(record, *applied.bucket, now_millis());
    return applied.bucket->burst() - known.used >= needed(applied);
}

/// The result of spending tokens that are at hand.
struct BucketSpending {
    bool spent = false;
    bool low = false;  ///< more should be fetched before they run out
    Ticks end = 0;     ///< when those that were spent would have died
    BucketRecord before;
};

BucketSpending spend_here(AppliedLimit& applied, std::int64_t cost) noexcept {
    BucketSpending spending;
    TokenTerms terms = terms_of_tokens(applied.demand);
    terms.answer = applied.shard().fetches().answer_time();
    applied.zone->windows().change(applied.id, [&](BucketRecord& record) {
        spending.before = record;
        spending.end = first_end(record, terms.now);
        spending.spent = spend(record, terms, cost);
        spending.low = spending.spent && may_fetch_ahead(record, terms) && has_needed(applied, record);
    });
    return spending;
}

}  // namespace

void LeaseBucket::fit_bucket(AppliedLimit& applied) const noexcept {
    const BucketLease lease = lease_of(*applied.bucket);
    applied.life = lease.life;
    applied.kept = lease.kept;
    applied.bucket = applied.bucket->less(lease.kept);
}

bool LeaseBucket::recalls_first(const AppliedLimit& applied, bool alone) const noexcept {
    return applied.life != 0 || RedisBucket::recalls_first(applied, alone);
}

Recalled LeaseBucket::recall(AppliedLimit& applied, Millis now) const noexcept {
    if (!leases(applied)) {
        return RedisBucket::recall(applied, now);
    }
    applied.demand = demand_of(applied);
    applied.demand.batch = std::min(static_cast<std::int64_t>(applied.limit.lease), applied.bucket->burst());
    applied.demand.life = applied.life;
    const BucketSpending spending = spend_here(applied, applied.cost);
    if (spending.spent) {
        applied.by_tokens = true;
        hold_bucket_tokens(applied, applied.cost, spending.end);
        show_bucket(applied, spending.before, 0, now);
        if (spending.low) {
            applied.shard().fetches().fetch_ahead(applied.key, applied.demand);
        }
        return Recalled::admitted;
    }
    return recall_for(applied, needed(applied), now);
}

void LeaseBucket::ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept {
    if (leases(applied)) {
        applied.shard().fetches().fetch(applied.asked.emplace<Seat>(), applied.key, applied.demand, owner);
    } else {
        RedisBucket::ask(applied, owner);
    }
}

Admission LeaseBucket::admit(AppliedLimit& applied, Millis now) const noexcept {
    if (!std::holds_alternative<Seat>(applied.asked) || applied.answer()->failure() != nullptr) {
        return RedisBucket::admit(applied, now);
    }
    const Bucket& bucket = *applied.bucket;
    BucketRecord told;
    learn_bucket(told, bucket.fill(), now, applied.answer()->window().used);
    const std::int64_t granted = applied.take_granted();
    const bool admitted = granted >= applied.cost;
    hold_bucket_tokens(applied, granted, std::get<Seat>(applied.asked).tokens_end());
    if (!admitted || shown_of(told, bucket, now).used >= bucket.burst()) {
        note_used_up(applied, now);
    }
    if (!admitted) {
        show(applied, refusal_of(told, bucket, now, needed(applied)));
        return Admission::refused;
    }
    show_bucket(applied, applied.zone->windows().find<BucketRecord>(applied.id).value_or(told), applied.cost,
                now);
    return Admission::admitted;
}

void LeaseBucket::settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept {
    auto* seat = std::get_if<Seat>(&applied.asked);
    if (seat == nullptr && applied.holding.kind != Holding::Kind::tokens) {
        RedisBucket::settle(applied, due, now);
        return;
    }
    Holding holding = applied.take_holding();
    if (holding.kind != Holding::Kind::tokens) {
        leave_memory(applied, holding, now);
        // The grant counts although the request did not wait for it, or another limit refused it.
        holding = {Holding::Kind::tokens, applied.take_granted(), 0, 0, {}, seat->tokens_end()};
    }
    if (due < holding.cost) {
        const Dying unspent{holding.cost - due, holding.tokens_end};
        applied.shard().hoard().give_back(applied.key, applied.demand, unspent);
    }
    count_spent(applied, std::min(due, holding.cost));
    const std::int64_t rest = due - std::min(due, holding.cost);
    if (rest != 0 && spend_here(applied, rest).spent) {
        count_spent(applied, rest);
    } else if (rest != 0 && !applied.in_doubt()) {
        charge_late(applied, rest, now);
    }
}

const LeaseBucket lease_bucket;

}  // namespace rate_limit
