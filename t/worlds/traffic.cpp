#include "t/worlds/traffic.h"

#include <algorithm>

namespace rate_limit::world {

namespace {

/// How long a request may wait beyond its timeout: timers fire by the millisecond.
constexpr Micros late = 2'000;

/// By then a worker has told a store what it owes, or another worker, or counts it as lost.
constexpr Micros told_within = 10'000'000;

Micros longest_wait(const Plan& plan) {
    Msec longest = 0;
    for (const Setup& setup : plan.setups) {
        for (const StoreSetup& store : setup.stores) {
            longest = std::max(longest, store.check_timeout);
        }
    }
    return static_cast<Micros>(longest) * 1000 + late;
}

}  // namespace

Traffic::Traffic(Events& events, const Plan& plan, Machines& machines, const LostWrites& lost, Truths& truths,
                 EventLog& log)
    : events_(events),
      plan_(plan),
      machines_(machines),
      truths_(truths),
      log_(log),
      chance_(plan.course),
      patience_(longest_wait(plan)) {
    for (std::size_t i = 0; i < plan.traffic.limits.size(); ++i) {
        limits_.emplace_back(plan, i, lost, truths);
    }
    events_.in(1'000, [this] { begin_arrivals(); });
}

bool Traffic::uses(const WorkerProcess& worker) const {
    return std::any_of(visits_.begin(), visits_.end(), [&worker](const Visit& visit) {
        return visit.worker == &worker && !visit.request->is_over();
    });
}

void Traffic::forget(const WorkerProcess& worker) {
    visits_.remove_if([&worker](const Visit& visit) { return visit.worker == &worker; });
}

void Traffic::vanish(const WorkerProcess& worker, bool memory) {
    for (auto next = visits_.begin(); next != visits_.end();) {
        const auto visit = next++;
        if (visit->worker != &worker) {
            continue;
        }
        if (!visit->request->is_over()) {
            lose(visit->key, visit->cost);
            if (visit->request->is_admitted()) {
                end(*visit);
            }
        }
        events_.cancel(visit->next);
        visits_.erase(visit);
    }
    for (const Recent& recent : recent_) {
        if (recent.worker == &worker) {
            lose(recent.key, recent.cost);
        }
    }
    for (LimitTruths& limit : limits_) {
        memory ? limit.lose_memory() : limit.lose_refunds();
    }
}

/// Something of the request may be charged, or not, or given back, or not.
void Traffic::lose(std::size_t key, std::int64_t cost) {
    for (LimitTruths& limit : limits_) {
        limit.lose(key, cost);
    }
}

void Traffic::note_recent(const Visit& visit) {
    if (!plan_.machines.has(MachineFault::kill)) {
        return;
    }
    recent_.push_back({visit.worker, events_.now(), visit.key, 2 * visit.cost});
    while (recent_.front().ended + told_within < events_.now()) {
        recent_.pop_front();
    }
}

bool Traffic::is_over() const {
    return events_.now() >= plan_.lasts || !truths_.hold();
}

void Traffic::begin_arrivals() {
    const std::int64_t at_once = plan_.traffic.arrivals == Arrivals::closed ? plan_.traffic.at_once : 1;
    for (std::int64_t i = 0; i < at_once; ++i) {
        arrive();
    }
}

void Traffic::arrive() {
    if (is_over()) {
        return;
    }
    forget_ended();
    const TrafficPlan& plan = plan_.traffic;
    switch (plan.arrivals) {
        case Arrivals::steady:
            (void)begin_request();
            events_.in(1 + chance_.below(2 * plan.pause), [this] { arrive(); });
            break;
        case Arrivals::bursts:
            for (std::int64_t i = 0; i < plan.at_once; ++i) {
                (void)begin_request();
            }
            events_.in(1 + chance_.below(2 * plan.pause * plan.at_once), [this] { arrive(); });
            break;
        case Arrivals::closed:
            if (!begin_request()) {
                come_again();
            }
            break;
    }
}

/// A request of a closed loop is over.
void Traffic::come_again() {
    if (plan_.traffic.arrivals == Arrivals::closed) {
        events_.in(1 + chance_.below(2 * plan_.traffic.pause), [this] { arrive(); });
    }
}

/// False: no machine serves.
bool Traffic::begin_request() {
    const Machines::Choice choice = machines_.choose(chance_);
    const std::size_t key = draw_key(plan_.traffic, chance_);
    const std::int64_t cost = chance_.between(1, plan_.traffic.most_cost);
    if (choice.worker == nullptr) {
        return false;
    }
    ++count_;
    visits_.push_back({nullptr, choice.worker, choice.memory, key, cost, events_.now()});
    Visit& visit = visits_.back();
    visit.request = std::make_unique<ClientRequest>(*choice.worker, "client" + std::to_string(key), cost,
                                                    [this, &visit](ClientRequest&) { decided(visit); });
    begin(visit);
    return true;
}

void Traffic::begin(Visit& visit) {
    const Loop& loop = visit.worker->loop();
    if (loop.stalls()) {
        visit.next = events_.at(loop.stalled_until(), [this, &visit] { begin(visit); });
        return;
    }
    visit.begun = events_.now();
    visit.request->begin();
    if (!visit.request->is_decided() && chance_.percent(plan_.traffic.aborted)) {
        visit.next = events_.in(chance_.below(1'000), [this, &visit] {
            if (visit.worker->loop().stalls()) {
                return;
            }
            log_.add("aborts key ", visit.key);
            note_recent(visit);
            visit.request->abort();
            come_again();
        });
    }
}

void Traffic::decided(Visit& visit) {
    events_.cancel(visit.next);
    ClientRequest& request = *visit.request;
    log_.add("key ", visit.key, " cost ", visit.cost, ": ", to_string(request.outcome));
    for (std::size_t i = 0; i < request.count(); ++i) {
        const Verdict& verdict = request.applied(i).verdict;
        log_.add("  ", verdict.name, ": ", to_string(verdict.outcome), ", used ", verdict.window.used,
                 " until ", verdict.window.reset);
    }
    const Micros waited = events_.now() - visit.begun;
    if (waited > patience_ && visit.worker->loop().stalled_until() < visit.begun) {
        truths_.fail("a request waited for " + std::to_string(waited) + " us");
    }
    check_headers(visit);
    if (request.is_admitted()) {
        admitted(visit);
        visit.next =
            events_.in(1 + chance_.below(plan_.traffic.longest), [this, &visit] { end_request(visit); });
    } else {
        note_recent(visit);
        come_again();
    }
}

/// What the client is told agrees with the decision, and with itself.
void Traffic::check_headers(const Visit& visit) {
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        const Verdict& verdict = applied.verdict;
        const Quota quota = visit.request->quota(i);
        const auto fail = [&](const char* what) {
            truths_.fail(std::string(applied.limit.name) + ", key " + std::to_string(visit.key) + ": " +
                         what + ": limit " + std::to_string(quota.limit) + ", used " +
                         std::to_string(quota.used) + ", remaining " + std::to_string(quota.remaining) +
                         ", until " + std::to_string(quota.until));
        };
        if (!verdict.known) {
            continue;
        }
        const bool rejected = verdict.outcome == Outcome::rejected;
        if (quota.remaining < 0 || quota.remaining > quota.limit) {
            fail("Remaining is none");
        }
        if (verdict.bucket && quota.used != quota.limit - quota.remaining) {
            fail("Used is not what Remaining lacks");
        }
        if (rejected && !verdict.never_fits && quota.remaining != 0) {
            fail("a request is rejected while something remains");
        }
        if (rejected && quota.retry && quota.until < 1) {
            fail("a request is rejected, and may come again at once");
        }
        const bool passed = verdict.outcome == Outcome::passed && visit.request->is_admitted();
        if (passed && !quota.slots && applied.mode->needs_cost() && quota.used < visit.cost) {
            fail("a request has passed, and is not in Used");
        }
    }
}

void Traffic::admitted(Visit& visit) {
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        const std::size_t number = number_of(applied);
        LimitTruths& limit = limits_[number];
        if (applied.verdict.outcome == Outcome::passed) {
            visit.numbers[number] = limit.admit(share_of(visit, limit), visit.cost,
                                                applied.verdict.window.reset, visit.begun, events_.now());
        }
    }
}

/// It does not run any more.
void Traffic::end(Visit& visit) {
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        LimitTruths& limit = limits_[number_of(applied)];
        if (applied.verdict.outcome == Outcome::passed && limit.counts_running()) {
            limit.leave(share_of(visit, limit));
        }
    }
}

void Traffic::end_request(Visit& visit) {
    if (visit.worker->loop().stalls()) {
        visit.next = events_.at(visit.worker->loop().stalled_until(), [this, &visit] { end_request(visit); });
        return;
    }
    end(visit);
    if (chance_.percent(plan_.traffic.costs_later)) {
        visit.request->end_at_cost(chance_.between(1, 2 * visit.cost));
    } else {
        visit.request->end(chance_.percent(plan_.traffic.exempt));
    }
    note_recent(visit);
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        const std::size_t number = number_of(applied);
        LimitTruths& limit = limits_[number];
        limit.charge(visit.key, applied.charged);
        log_.add("key ", visit.key, " ends: ", applied.limit.name, " charges ", applied.charged);
        const std::int64_t back = visit.cost - applied.charged;
        if (applied.verdict.outcome == Outcome::passed && back > 0) {
            limit.give_back(share_of(visit, limit), visit.numbers[number], back,
                            applied.verdict.window.reset);
        }
    }
    come_again();
}

/// The oldest that have ended: no event refers to them.
void Traffic::forget_ended() {
    while (!visits_.empty() && visits_.front().request->is_over()) {
        visits_.pop_front();
    }
}

Share Traffic::share_of(const Visit& visit, const LimitTruths& limit) const {
    return {visit.key, limit.is_local() ? visit.memory : 0};
}

/// Limits are called l0, l1 and so on.
std::size_t Traffic::number_of(const AppliedLimit& applied) const {
    return static_cast<std::size_t>(applied.limit.name[1] - '0');
}

}  // namespace rate_limit::world
