#include "t/worlds/header_truths.h"

#include <algorithm>

#include "limiter/loop.h"
#include "limiter/zone.h"

namespace rate_limit::world {

HeaderTruths::HeaderTruths(const Plan& plan, Truths& truths)
    : truths_(truths), clocks_apart_((plan.machines.apart(plan.lasts) + 999) / 1000) {}

void HeaderTruths::check(const Part& part, const LimitTruths& limit) {
    const Verdict& verdict = part.request.verdicts()[part.number];
    const Millis now = now_millis();
    ahead_ = std::max(ahead_, now - part.decided / 1000);
    if (!verdict.known) {
        return;
    }
    check_used(part);
    check_retry(part, now);
    const PenaltyPart* const penalty = part.request.applied(part.number).penalty;
    const bool penalized = penalty != nullptr && penalty->until != 0;
    if (!verdict.bucket && !verdict.slots && !penalized) {
        check_room(part);
        check_reset(part, limit, now);
    }
}

/// A window rejects what does not fit. Requests in flight fill it, too, and tokens of other machines.
void HeaderTruths::check_room(const Part& part) {
    const Verdict& verdict = part.request.verdicts()[part.number];
    const AppliedLimit& applied = part.request.applied(part.number);
    const bool counts_alone = verdict.in_flight == 0 && std::string_view(applied.limit.mode->name) != "lease";
    const std::int64_t need = applied.mode->needs_cost() ? part.cost : 1;
    if (verdict.outcome == Outcome::rejected && !verdict.never_fits && counts_alone &&
        verdict.window.used + need <= verdict.rate.limit) {
        fail(part, "a request is rejected while its window has room");
    }
}

void HeaderTruths::check_used(const Part& part) {
    const Verdict& verdict = part.request.verdicts()[part.number];
    const AppliedLimit& applied = part.request.applied(part.number);
    const Quota quota = part.request.quota(part.number);
    const bool passed = verdict.outcome == Outcome::passed && part.request.is_admitted();
    if (passed && !quota.slots && applied.mode->needs_cost() && quota.used < part.cost) {
        fail(part, "a request has passed, and is not in Used");
    }
}

/// Capacity that is there again at the end of a window, or when a bucket has refilled it, is there for who
/// comes back. Nobody knows when requests end that run.
void HeaderTruths::check_retry(const Part& part, Millis now) {
    const Verdict& verdict = part.request.verdicts()[part.number];
    const Quota quota = part.request.quota(part.number);
    if (!quota.retry) {
        return;
    }
    const bool ends_alone = verdict.in_flight == 0 && !verdict.slots;
    if (ends_alone && now + quota.until * 1000 < verdict.window.reset) {
        fail(part, "a request is rejected, and may come again too early");
    }
}

/// Once a machine knows that its store has a window, everybody whose request begins then is told of its end,
/// until that has come: unless the window has gone, as all that was used in it was given back, or as the
/// store has lost it.
void HeaderTruths::check_reset(const Part& part, const LimitTruths& limit, Millis now) {
    const AppliedLimit& applied = part.request.applied(part.number);
    const Millis reset = applied.verdict.window.reset;
    if (reset <= now) {
        return;  // a refusal that has come late shows the window that has ended
    }
    const Place place{&limit, part.claim};
    Shown& before = shown_[place];
    const bool same = reset == before.reset;
    if (!same && before.confirmed && part.begun > before.decided && before.reset > now &&
        before.reset > part.decided / 1000 + ahead_ + clocks_apart_ && stays(place, before)) {
        fail(part, "the end of the window has moved from " + std::to_string(before.reset));
    }
    const Record record = applied.zone->windows().find(applied.id).value_or(Record{});
    const bool confirmed = limit.is_local() || (record.as<WindowRecord>().confirmed && record.reset == reset);
    before = {reset, confirmed, part.decided};
}

void HeaderTruths::note_lasting(const LimitTruths& limit, const Claim& claim, Millis reset, Micros decided) {
    if (!limit.by_bucket() && !limit.counts_running()) {
        const Place place{&limit, {claim.key, limit.is_local() ? claim.memory : 0}};
        Micros& since = lasting_.try_emplace({place, reset}, decided).first->second;
        since = std::min(since, decided);
    }
}

/// A window whose use is known for sure: another machine may have opened one with the same end after the
/// first had gone.
bool HeaderTruths::stays(const Place& place, const Shown& shown) const {
    const auto& [limit, claim] = place;
    if (!limit->is_in_one_place()) {
        return false;
    }
    const auto lasts =
        lasting_.find({{limit, {claim.key, limit->is_local() ? claim.memory : 0}}, shown.reset});
    const bool used = lasts != lasting_.end() && lasts->second <= shown.decided;
    if (!used && (limit->is_local() || !limit->only_charges())) {
        return false;
    }
    const LostWrites::Sums lost = limit->lost_of(claim.key);
    return lost.taken == 0 && lost.given_back == 0;
}

void HeaderTruths::fail(const Part& part, const std::string& what) {
    const Verdict& verdict = part.request.verdicts()[part.number];
    const Quota quota = part.request.quota(part.number);
    truths_.fail(std::string(verdict.name) + ", key " + std::to_string(part.claim.key) + ": " + what +
                 ": limit " + std::to_string(quota.limit) + ", used " + std::to_string(quota.used) +
                 ", remaining " + std::to_string(quota.remaining) + ", until " + std::to_string(quota.until) +
                 ", reset " + std::to_string(verdict.window.reset));
}

}  // namespace rate_limit::world
