#include "limiter/request/placing.h"

#include <algorithm>

#include "core/limit/bucket.h"
#include "limiter/request/penalties.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// Windows count where a variable burst is empty, and are charged before the request as buckets are.
const Mode& mode_of_windows(const Limit& limit, const StoreConf* store) noexcept {
    const NamedMode& mode = limit.variable_burst ? charge_refund_mode : *limit.mode;
    return store != nullptr ? mode.with_redis : mode.local;
}

/// No store is asked: nothing is left until then.
void reject(AppliedLimit& applied, const Rate& rate, Millis reset) noexcept {
    Verdict& verdict = applied.verdict;
    verdict.rate = {0, rate.period, rate.calendar};
    verdict.known = true;
    verdict.window = {0, reset};
    verdict.outcome = applied.dry_run ? Outcome::rejected_dry_run : Outcome::rejected;
}

/// Most requests have what is noted. Numbers without a period may differ from one request to the next: the
/// greatest is noted.
template <typename Name>
void note(const Configuration& configuration, const Limit& limit, NotedRate& last, const NotedRate& said,
          Name name) noexcept {
    const bool is_noted =
        last.rate.limit == said.rate.limit || (last.rate.limit > said.rate.limit && !limit.kind->has_period);
    if (is_noted && same_period(last.rate, said.rate) && last.store == said.store) {
        return;
    }
    const Tally* tally = configuration.tallies->find(limit, name_of(said.store));
    if (tally != nullptr) {
        configuration.zone->seen_rates().note(name(tally->digest), said.rate);
    }
    last = said;
}

}  // namespace

void close(AppliedLimit& applied, const Rate& rate, Millis now) noexcept {
    const WindowKind kind =
        rate.calendar != Calendar::none ? applied.limit.kind_at(rate, false) : WindowKind::first;
    reject(applied, rate, propose_reset(kind, rate.period, now));
}

void ban(AppliedLimit& applied, const Rate& rate, Millis until) noexcept {
    applied.dry_run = false;
    reject(applied, rate, until);
}

void note_rate(const Configuration& configuration, const Limit& limit, const Rate& rate,
               const StoreConf* store) noexcept {
    if (limit.variable_rate) {
        note(configuration, limit, limit.noted_rate, {rate, store}, [](auto digest) { return digest; });
    }
}

void note_burst(const Configuration& configuration, const Limit& limit, const Rate& rate, std::int64_t burst,
                const StoreConf* store) noexcept {
    if (limit.variable_burst) {
        const NotedRate said{{burst, rate.period, rate.calendar}, store};
        note(configuration, limit, limit.noted_burst, said, name_of_bursts);
    }
}

const char* count_tokens(AppliedLimit& applied, const Rate& rate, std::int64_t burst) noexcept {
    applied.bucket = Bucket::of(rate, burst);
    if (!applied.bucket) {
        return why_no_bucket(rate, burst);
    }
    applied.verdict.rate = {burst, applied.bucket->fill_seconds()};
    applied.verdict.bucket = true;
    return nullptr;
}

const char* find_place(const Configuration& configuration, RequestMemory& memory, AppliedLimit& applied,
                       const Rate& rate, StoreConf* store) noexcept {
    Zone& zone = *configuration.zone;
    const Limit& limit = applied.limit;
    const bool has_regions = store != nullptr && store->has_regions();
    const char* failure = has_regions ? why_not_over_regions(limit) : nullptr;
    if (failure == nullptr) {
        failure = locate(memory, zone, store,
                         {limit.name, rate.period, applied.kind(), applied.client_key, limit.head}, applied);
    }
    if (failure == nullptr && has_regions) {
        applied.elsewhere = locate_elsewhere(memory, zone, applied, rate, applied.kind());
        failure = applied.elsewhere == nullptr ? "no memory" : nullptr;
    }
    if (failure != nullptr) {
        static_cast<WindowPlace&>(applied) = {};  // without a zone nothing may be asked there
        applied.elsewhere = nullptr;
        return failure;
    }
    applied.zone = &zone;
    if (has_regions) {
        applied.mode = limit.mode->with_regions;
        recall_elsewhere(*applied.elsewhere, applied.shard().freshness(rate.period), now_millis());
    } else if (applied.bucket) {
        applied.mode = store != nullptr ? limit.mode->redis_bucket : limit.mode->local_bucket;
        applied.mode->fit_bucket(applied);
    } else {
        applied.mode = &mode_of_windows(limit, store);
    }
    if (applied.mode->recalls_first(applied, false)) {
        zone.windows().prefetch(applied.id);
    }
    return prepare_penalty(memory, applied) ? nullptr : "no memory";
}

const Limit* twin_of(const LimitedRequest& request, const AppliedLimit& applied) noexcept {
    for (std::size_t i = 0; &request.applied(i) != &applied; ++i) {
        const AppliedLimit& other = request.applied(i);
        if (other.zone != nullptr && other.id == applied.id) {
            return &other.limit;
        }
    }
    return nullptr;
}

void compare_cost(AppliedLimit& applied) noexcept {
    applied.verdict.never_fits = applied.cost > applied.verdict.rate.limit - applied.kept;
}

void reserve(AppliedLimit& applied, std::int64_t estimate) noexcept {
    applied.cost = std::min(estimate, applied.verdict.rate.limit - applied.kept);
    applied.reserved = applied.cost;
}

}  // namespace rate_limit
