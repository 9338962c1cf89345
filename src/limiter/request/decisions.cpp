#include "limiter/request/decisions.h"

#include <algorithm>
#include <utility>

#include "limiter/request/penalties.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

Outcome used_up(const AppliedLimit& applied) noexcept {
    return applied.dry_run ? Outcome::rejected_dry_run : Outcome::rejected;
}

bool undecided(const AppliedLimit& applied) noexcept {
    return applied.verdict.outcome == Outcome::none;
}

/// Nothing known yet is against it.
bool may_pass(const AppliedLimit& applied) noexcept {
    return undecided(applied) || applied.verdict.outcome == Outcome::passed;
}

/// One of the limits refuses the request, or it could not be checked and may not pass.
bool is_refused(const LimitedRequest& request) noexcept {
    return is_refusal(combine(request.verdicts(), request.count()));
}

void decide_one(LimitedRequest& request, AppliedLimit& applied, Millis now) noexcept {
    switch (applied.mode->admit(applied, now)) {
        case Admission::admitted:
            applied.verdict.outcome = Outcome::passed;
            break;
        case Admission::refused:
            applied.verdict.outcome = used_up(applied);
            break;
        case Admission::unchecked:
            request.on_unchecked(applied, applied.failure);
            decide_unchecked(request, applied);
            break;
    }
}

/// The name of the store that a variable chose.
std::string_view store_of(const AppliedLimit& applied) noexcept {
    if (!applied.store_name.empty()) {
        return applied.store_name;
    }
    return applied.zone != nullptr ? "local" : Tallies::no_store;
}

[[gnu::always_inline]] inline Tally* tally_of(Tallies& tallies, const AppliedLimit& applied) noexcept {
    Tally* const known = tallies.find(applied.limit);
    return known != nullptr ? known : tallies.find(applied.limit, store_of(applied));
}

[[gnu::noinline]] void note_offender(const LimitedRequest& request, const AppliedLimit& applied,
                                     const Tally& tally, Millis now) noexcept {
    const bool dry_run = applied.verdict.outcome == Outcome::rejected_dry_run;
    request.configuration().zone->offenders().note(
        {request.id_of(applied), tally.digest, dry_run, applied.client_key}, now);
}

/// Until the request ends.
void count_running(AppliedLimit& applied, const Tally* tally) noexcept {
    Zone& zone = *applied.zone;
    applied.running =
        tally != nullptr ? zone.running_counts().check(tally->column, tally->digest) : RunningCounts::others;
    zone.count_running(*applied.running);
}

bool was_asked(const AppliedLimit& applied) noexcept {
    return applied.asked.index() != 0 || (applied.penalty != nullptr && applied.penalty->asked);
}

/// A rejection may begin a penalty; a request that is let in counts as pending.
[[gnu::noinline]] void note_for_penalty(Tallies& tallies, Tally* tally, AppliedLimit& applied,
                                        Millis now) noexcept {
    if (applied.verdict.outcome == Outcome::rejected && penalize(applied, now)) {
        if (auto& counters = tallies.counters_of_some<Penalizing>(tally)) {
            counters->add(Penalizing::begun);
        }
    } else if (applied.verdict.outcome == Outcome::passed) {
        hold_pending(applied, now);
    }
}

void count_decision(const LimitedRequest& request, AppliedLimit& applied, Millis now) noexcept {
    const Outcome outcome = applied.verdict.outcome;
    if (outcome == Outcome::none) {
        return;  // another limit refused the request before
    }
    Tallies& tallies = *request.configuration().tallies;
    Tally* const tally = tally_of(tallies, applied);
    if (tally != nullptr && (outcome == Outcome::rejected || outcome == Outcome::rejected_dry_run)) {
        note_offender(request, applied, *tally, now);
    }
    if (applied.penalty != nullptr) {
        note_for_penalty(tallies, tally, applied, now);
    }
    if (applied.holding.kind == Holding::Kind::slot && !applied.running) {
        count_running(applied, tally);
    }
    Counters<Decided>& counters = tallies.counters_of(tally);
    if (!was_asked(applied)) {
        counters.add_both(decided_of(outcome), Decided::unasked);
    } else {
        counters.add(decided_of(outcome));
    }
}

void count_cost(Tallies& tallies, const AppliedLimit& applied) noexcept {
    if (applied.charged > 0) {
        tallies.counters_of(tally_of(tallies, applied))
            .add(Decided::cost, static_cast<std::uint64_t>(applied.charged));
    }
}

[[gnu::noinline]] void count_reservation(Tallies& tallies, const AppliedLimit& applied) noexcept {
    auto& counters = tallies.counters_of_some<Reserving>(tally_of(tallies, applied));
    if (counters) {
        counters->add(Reserving::reserved, static_cast<std::uint64_t>(*applied.reserved));
        counters->add(Reserving::settled, static_cast<std::uint64_t>(applied.charged));
    }
}

void show_unopened(AppliedLimit& applied, Millis now) noexcept {
    show(applied, {0, terms_of(applied, now).proposed});
}

/// Another limit refused the request before this one's store was asked: shows what this machine knows.
void leave_undecided(AppliedLimit& applied, Millis now) noexcept {
    if (applied.recalled != Recalled::nothing) {
        applied.verdict.outcome = used_up(applied);
    } else if (applied.zone != nullptr && !applied.mode->kind().show_remembered(applied, now)) {
        show_unopened(applied, now);
    }
}

/// The cost is above the whole limit, so the request is refused whatever the window holds. Where this machine
/// does not know the window, its store is asked, so that headers can show it.
void refuse_before_asking(AppliedLimit& applied, Millis now) noexcept {
    if (!applied.mode->kind().show_remembered(applied, now)) {
        if (applied.store != nullptr) {
            return;
        }
        show_unopened(applied, now);
    }
    applied.verdict.outcome = used_up(applied);
}

/// The store was asked only so that headers can show the window, and has answered or failed.
void refuse_after_asking(AppliedLimit& applied, Millis now) noexcept {
    const Answer* answer = applied.answer();
    if (answer != nullptr && answer->failure() == nullptr) {
        applied.mode->kind().take_in(applied, answer->window(), now);
    } else {
        show_unopened(applied, now);
    }
    applied.verdict.outcome = used_up(applied);
}

/// Looks at what this machine remembers, where that may decide.
void recall_one(AppliedLimit& applied, bool alone, Millis now) noexcept {
    if (applied.penalty != nullptr && recall_penalty(applied, now)) {
        applied.recalled = Recalled::used_up;
        applied.verdict.outcome = used_up(applied);
        return;
    }
    if (applied.verdict.never_fits) {
        refuse_before_asking(applied, now);
        return;
    }
    if (!applied.mode->recalls_first(applied, alone)) {
        return;
    }
    applied.recalled = applied.mode->recall(applied, now);
    if (applied.recalled == Recalled::used_up) {
        applied.verdict.outcome = used_up(applied);
    } else if (applied.recalled == Recalled::admitted) {
        applied.verdict.outcome = Outcome::passed;
    }
}

/// Whether a limit, `from` or after, will refuse the request because its cost never fits.
bool will_be_refused(const LimitedRequest& request, std::size_t from) noexcept {
    for (std::size_t i = from; i < request.count(); ++i) {
        if (request.applied(i).verdict.never_fits && !request.applied(i).dry_run) {
            return true;
        }
    }
    return false;
}

constexpr std::string_view memory = "memory";

std::string_view by_answer(AppliedLimit& applied) noexcept {
    const Answer* answer = applied.answer();
    if (answer == nullptr || answer->failure() != nullptr) {
        return memory;
    }
    if (applied.elsewhere != nullptr) {
        return applied.elsewhere->remembered ? memory : "replica";  // of other regions at least
    }
    const auto* read = std::get_if<Read>(&applied.asked);
    return read != nullptr && !read->by_primary() ? "replica" : "primary";
}

}  // namespace

void decide_unchecked(const LimitedRequest& request, AppliedLimit& applied) noexcept {
    const auto on_error = request.on_error();
    const bool has_store = applied.store != nullptr;
    const Millis now = now_millis();
    Outcome& outcome = applied.verdict.outcome;
    if (on_error == OnError::local && has_store) {
        const std::int64_t need = applied.mode->needs_cost() ? applied.cost : 1;
        const Admission admission = applied.mode->kind().enter_unasked(applied, need, now);
        if (admission != Admission::unchecked) {
            outcome = admission == Admission::admitted ? Outcome::error_local : used_up(applied);
            return;
        }
    }
    outcome = on_error == OnError::deny && !applied.dry_run ? Outcome::error_denied : Outcome::error_allowed;
    if (outcome == Outcome::error_allowed && applied.zone != nullptr) {
        applied.mode->enter_anyway(applied, now);
    }
    // Nothing that could be shown is known of requests that run elsewhere.
    if (has_store && applied.limit.kind->is_spent) {
        applied.mode->kind().show_remembered(applied, now);
    }
}

void recall_or_ask(LimitedRequest& request, std::size_t from) noexcept {
    const Millis now = now_millis();
    const bool alone = request.count() == 1;
    for (std::size_t i = from; i < request.count(); ++i) {
        if (undecided(request.applied(i))) {
            recall_one(request.applied(i), alone, now);
        }
    }
    if (is_refused(request)) {
        return;
    }
    const bool only_for_headers = will_be_refused(request, from);
    request.begin_asking();
    for (std::size_t i = from; i < request.count(); ++i) {
        AppliedLimit& applied = request.applied(i);
        if (undecided(applied) && applied.store != nullptr &&
            (!only_for_headers || applied.verdict.never_fits)) {
            request.ask(applied);
        }
        if (applied.penalty != nullptr && applied.penalty->must_ask && may_pass(applied) &&
            !only_for_headers) {
            request.ask_penalty(applied);
        }
    }
    request.end_asking();
}

void decide(LimitedRequest& request, std::size_t from) noexcept {
    const Millis now = now_millis();
    for (std::size_t i = from; i < request.count(); ++i) {
        AppliedLimit& applied = request.applied(i);
        if (applied.penalty != nullptr && may_pass(applied) && take_penalty(applied, now)) {
            applied.verdict.outcome = used_up(applied);
        }
        if (undecided(applied) && applied.verdict.never_fits) {
            refuse_after_asking(applied, now);
        }
    }
    const bool refused = is_refused(request);
    request.end_wait();
    for (std::size_t i = from; i < request.count(); ++i) {
        AppliedLimit& applied = request.applied(i);
        if (undecided(applied) && refused) {
            leave_undecided(applied, now);
        } else if (undecided(applied)) {
            decide_one(request, applied, now);
        }
    }
    request.outcome = combine(request.verdicts(), request.count());
    for (std::size_t i = from; i < request.count(); ++i) {
        count_decision(request, request.applied(i), now);
    }
    if (is_refusal(request.outcome)) {
        request.give_back_all();
    }
}

bool is_charged(const LimitedRequest& request, const AppliedLimit& applied) noexcept {
    const Outcome own = applied.verdict.outcome;
    return !is_refusal(request.outcome) &&
           (own == Outcome::passed || own == Outcome::error_allowed || own == Outcome::error_local);
}

void charge_due(LimitedRequest& request) noexcept {
    request.settled = true;
    const Millis now = now_millis();
    for (std::size_t i = 0; i < request.count(); ++i) {
        AppliedLimit& applied = request.applied(i);
        applied.mode->settle(applied, applied.verdict.due, now);
        applied.charged = applied.limit.kind->is_spent ? applied.verdict.due : 0;
        if (applied.penalty != nullptr) {
            release_pending(applied, applied.charged, now);
        }
        if (applied.reserved && is_charged(request, applied) &&
            applied.verdict.outcome != Outcome::error_allowed) {
            count_reservation(*request.configuration().tallies, applied);
        }
        count_cost(*request.configuration().tallies, applied);
    }
}

bool await_turn(LimitedRequest& request, std::size_t from) noexcept {
    Millis longest = 0;
    Millis told = 0;
    for (std::size_t i = from; i < request.count(); ++i) {
        AppliedLimit& applied = request.applied(i);
        told = std::max(told, applied.delay);
        applied.delay = applied.dry_run ? 0 : applied.delay;
        longest = std::max(longest, applied.delay);
    }
    request.delay += told;
    return longest != 0 && request.begin_delay(static_cast<Msec>(longest));
}

void take_turn(LimitedRequest& request) noexcept {
    Tallies& tallies = *request.configuration().tallies;
    const auto waited = static_cast<Millis>(request.delayed());
    for (std::size_t i = 0; i < request.count(); ++i) {
        const Millis delay = std::exchange(request.applied(i).delay, 0);
        auto& counters = tallies.counters_of_some<Delaying>(tally_of(tallies, request.applied(i)));
        if (delay != 0 && counters) {
            counters->add(Delaying::delayed);
            counters->add(Delaying::millis, static_cast<std::uint64_t>(std::min(delay, waited)));
        }
    }
}

void leave_queue(LimitedRequest& request) noexcept {
    take_turn(request);
    request.settled = true;
    const Millis now = now_millis();
    for (std::size_t i = 0; i < request.count(); ++i) {
        AppliedLimit& applied = request.applied(i);
        applied.charged = applied.mode->leave_queue(applied, now);
        count_cost(*request.configuration().tallies, applied);
    }
}

void count_request(LimitedRequest& request) noexcept {
    if (request.outcome != Outcome::none && !request.counted) {
        request.counted = true;
        request.configuration().tallies->requests().add(request.outcome);
    }
}

std::string_view decided_by(AppliedLimit& applied) noexcept {
    const Outcome outcome = applied.verdict.outcome;
    const bool unchecked = outcome == Outcome::error_allowed || outcome == Outcome::error_denied;
    if (outcome == Outcome::none || unchecked || applied.zone == nullptr || applied.verdict.never_fits) {
        return "none";
    }
    const bool recalled = applied.recalled == Recalled::used_up || applied.recalled == Recalled::admitted;
    if (applied.penalty != nullptr && applied.penalty->asked && applied.penalty->until != 0 &&
        !applied.penalty->begun) {
        return applied.penalty->read.by_primary() ? "primary" : "replica";
    }
    if (recalled || outcome == Outcome::error_local || applied.store == nullptr) {
        return applied.by_tokens ? "tokens" : memory;
    }
    return by_answer(applied);
}

}  // namespace rate_limit
