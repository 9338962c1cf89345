#include <algorithm>
#include <string>
#include <string_view>

#include "core/limit/decision.h"
#include "t/worlds/traffic.h"

// Clients that come back when they were told to: the part of traffic that comes when all is well again.

namespace rate_limit::world {

namespace {

constexpr std::size_t most_users = 3;
constexpr std::int64_t most_requests = 120;

/// Clocks that run at different speeds, by at most a thousandth apart, differ by so much more in the time
/// that a client waits.
constexpr Micros clocks_drift = Traffic::longest_retry / 1000;

}  // namespace

/// The smallest limit, or burst, of all.
std::int64_t Traffic::smallest_limit() const {
    std::int64_t smallest = most_requests;
    for (const LimitSetup& limit : plan_.traffic.limits) {
        if (!limit.running) {
            smallest =
                std::min<std::int64_t>(smallest, limit.burst != 0 ? limit.burst : std::stoll(limit.rate));
        }
    }
    return smallest;
}

std::int64_t Traffic::cost_of_users() const {
    return std::min(plan_.traffic.most_cost, smallest_limit());
}

/// By way of all workers: a connection that a server has forgotten is found out by what is sent there.
void Traffic::use_up() {
    const std::vector<Machines::Choice> workers = machines_.all_choices();
    const std::size_t count =
        std::max(workers.size(), static_cast<std::size_t>(smallest_limit() / cost_of_users() + 1));
    for (std::size_t i = 0; i < std::min(most_users, static_cast<std::size_t>(plan_.traffic.keys)); ++i) {
        users_.push_back(draw_key(plan_.traffic, chance_));
        for (std::size_t request = 0; request < count; ++request) {
            begin_request({Purpose::uses_up, users_.back(), cost_of_users()},
                          workers[request % workers.size()]);
        }
    }
}

void Traffic::check_decided() {
    for (const Visit& visit : visits_) {
        if (!visit.request->is_over() && !visit.request->is_concluded()) {
            truths_.fail("key " + std::to_string(visit.key) + ": a request that came at " +
                         std::to_string(visit.begun) + " still waits");
        }
    }
}

void Traffic::come_last() {
    for (const std::size_t key : users_) {
        for (const Machines::Choice& worker : machines_.all_choices()) {
            begin_request({Purpose::uses_up, key, cost_of_users()}, worker);
        }
    }
}

void Traffic::ask_for_more() {
    std::sort(users_.begin(), users_.end());
    users_.erase(std::unique(users_.begin(), users_.end()), users_.end());
    returns_until_ = events_.now() + longest_retry;
    for (const std::size_t key : users_) {
        begin_request({Purpose::asks, key, cost_of_users()}, machines_.choose_running(chance_));
    }
}

/// Slots of a machine that died lapse later; a worker that was killed had requests in flight; and a client
/// may wait for its turn for longer than others come back.
bool Traffic::may_be_held(std::size_t key) const {
    return plan_.machines.has(MachineFault::crash) || plan_.machines.has(MachineFault::kill) ||
           std::any_of(visits_.begin(), visits_.end(), [key](const Visit& visit) {
               return visit.key == key && !visit.request->is_over() && visit.request->waiting();
           });
}

/// How often a limit may tell a client to wait that nobody disturbs: once. But a limit in `local` is of each
/// machine by itself, which may say so once. And a machine knows of a bucket what others have taken only once
/// it asks, and does not ask while it knows itself that there is too little: each machine may say once what
/// it knows, and then one says what it was told. And before one window ends here, a machine or a region whose
/// clock is ahead may have opened the next, in which the client has used up the limit.
std::size_t Traffic::most_told(const LimitTruths& limit) const {
    const std::size_t machines = plan_.machines.clocks.size();
    if (limit.is_local() || machines == 1) {
        return machines;
    }
    return limit.by_bucket() ? machines + 1 : clocks_agree() ? 1 : 2;
}

/// Those of worlds with regions are all ahead of UTC.
bool Traffic::clocks_agree() const {
    return plan_.sites.regional ? plan_.machines.apart(plan_.lasts) == 0 : plan_.machines.clocks_agree();
}

/// A connection that a server has forgotten, or ends within its next reply, is found out by what is sent
/// there first, which is in doubt then, and all that is sent with it: each worker may find out each server
/// once.
bool Traffic::may_have_been_forgotten(const Visit& visit) {
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        const bool silent = applied.failure != nullptr && std::string_view(applied.failure) == no_answer;
        const Outcome outcome = applied.verdict.outcome;
        if (outcome != Outcome::passed && outcome != Outcome::rejected && !silent) {
            return false;
        }
    }
    std::set<Micros>& times = forgotten_[visit.worker];
    times.insert(events_.now());
    return times.size() <= plan_.servers.count_servers();
}

void Traffic::decided_when_well(const Visit& visit) {
    const ClientRequest& request = *visit.request;
    if (visit.purpose == Purpose::uses_up) {
        return;
    }
    const std::string client = "key " + std::to_string(visit.key) + ": ";
    if (request.outcome != Outcome::passed && request.outcome != Outcome::rejected) {
        if (may_have_been_forgotten(visit)) {
            return;
        }
        truths_.fail(client + "all is well again, and a request has " +
                     std::string(to_string(request.outcome)));
        return;
    }
    const VerdictIndex shown = rate_limit::shown(request.verdicts(), request.count());
    if (request.outcome == Outcome::passed || !shown) {
        return;
    }
    const Verdict& verdict = request.verdicts()[*shown];
    const bool runs = verdict.slots || verdict.in_flight != 0;
    if (runs && !may_be_held(visit.key)) {
        truths_.fail(client + std::string(verdict.name) +
                     " rejects a request for others that run: none does");
    } else if (visit.told[*shown] >= most_told(limits_[number_of(request.applied(*shown))])) {
        truths_.fail(client + std::string(verdict.name) +
                     " rejects a request that has come back when it was told to");
    } else if (!runs) {
        come_back(visit, *shown);
    }
}

void Traffic::come_back(const Visit& visit, std::size_t shown) {
    const bool agree = clocks_agree();
    const Micros late = plan_.machines.clocks.front().read_before;  // all have the same
    const Micros wait = visit.request->quota(shown).until * second + (agree ? 0 : clocks_drift) + late;
    const Machines::Choice same{visit.worker, visit.memory};
    const Machines::Choice at = agree ? machines_.choose_running(chance_) : same;
    if (events_.now() + wait > returns_until_) {
        return;
    }
    Arrival arrival{Purpose::asks, visit.key, visit.cost, {}, visit.told};
    ++arrival.told[shown];
    events_.in(wait, [this, arrival, at] { begin_request(arrival, at); });
}

}  // namespace rate_limit::world
