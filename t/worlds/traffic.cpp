#include "t/worlds/traffic.h"

#include <algorithm>

namespace rate_limit::world {

namespace {

/// How long a request may wait beyond its timeout: timers fire by the millisecond.
constexpr Msec late = 2;

}  // namespace

Traffic::Traffic(Events& events, const Plan& plan, Machines& machines, Truths& truths, EventLog& log)
    : events_(events), plan_(plan), machines_(machines), truths_(truths), log_(log), chance_(plan.course) {
    events_.in(1'000, [this] { arrive(); });
}

bool Traffic::uses(const WorkerProcess& worker) const {
    return std::any_of(visits_.begin(), visits_.end(), [&worker](const Visit& visit) {
        return visit.request->is_of(worker) && !visit.request->is_over();
    });
}

void Traffic::forget(const WorkerProcess& worker) {
    visits_.remove_if([&worker](const Visit& visit) { return visit.request->is_of(worker); });
}

void Traffic::arrive() {
    if (events_.now() >= plan_.lasts || !truths_.failures().empty()) {
        return;
    }
    forget_ended();
    begin_request();
    events_.in(1 + chance_.below(2 * plan_.traffic.pause), [this] { arrive(); });
}

void Traffic::begin_request() {
    WorkerProcess& worker = machines_.choose(chance_);
    const auto key = static_cast<std::size_t>(chance_.below(plan_.traffic.keys));
    const std::int64_t cost =
        plan_.setup.limits.front().running ? 1 : chance_.between(1, plan_.traffic.most_cost);
    visits_.push_back({nullptr, key, events_.now()});
    Visit& visit = visits_.back();
    visit.request = std::make_unique<ClientRequest>(worker, "client" + std::to_string(key), cost,
                                                    [this, &visit](ClientRequest&) { decided(visit); });
    ++count_;
    visit.request->begin();
    if (!visit.request->is_decided() && chance_.percent(plan_.traffic.aborted)) {
        visit.aborted = events_.in(chance_.below(1'000), [this, &visit] {
            log_.add("aborts key ", visit.key);
            visit.request->abort();
        });
    }
}

void Traffic::decided(Visit& visit) {
    events_.cancel(visit.aborted);
    const AppliedLimit& applied = visit.request->applied(0);
    log_.add("key ", visit.key, " cost ", applied.cost, ": ", to_string(visit.request->outcome));
    if (visit.request->waited() > plan_.setup.stores.front().check_timeout + late) {
        truths_.fail("a request waited for " + std::to_string(visit.request->waited()) + " ms");
    }
    if (applied.verdict.outcome == Outcome::passed) {
        visit.number =
            truths_.admit(visit.key, applied.cost, applied.verdict.window.reset, visit.begun, events_.now());
    }
    if (visit.request->is_admitted()) {
        events_.in(1 + chance_.below(plan_.traffic.longest), [this, &visit] { end_request(visit); });
    }
}

void Traffic::end_request(Visit& visit) {
    const AppliedLimit& applied = visit.request->applied(0);
    if (applied.verdict.outcome == Outcome::passed && plan_.setup.limits.front().running) {
        truths_.leave(visit.key);
    }
    visit.request->end(chance_.percent(plan_.traffic.exempt));
    truths_.charge(visit.key, applied.charged);
    if (applied.verdict.outcome == Outcome::passed && applied.charged == 0) {
        truths_.give_back(visit.key, visit.number, applied.cost, applied.verdict.window.reset);
    }
}

/// The oldest that have ended: no event refers to them.
void Traffic::forget_ended() {
    while (!visits_.empty() && visits_.front().request->is_over()) {
        visits_.pop_front();
    }
}

}  // namespace rate_limit::world
