#include "t/worlds/traffic.h"

#include <algorithm>

namespace rate_limit::world {

namespace {

/// How long a request may wait beyond its timeout: timers fire by the millisecond.
constexpr Micros late = 2'000;

/// So long a client waits for its turn.
constexpr Micros client_waits = 4 * second;

/// By then a store has been told what is owed, or it is counted as lost, also where an outage has lasted for
/// half of that time.
constexpr Micros told_within = 20'000'000;

/// The reset that a penalized request is shown is the penalty's end.
bool is_penalized(const AppliedLimit& applied) {
    return applied.penalty != nullptr && applied.penalty->until != 0;
}

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

Traffic::Traffic(Events& events, const Plan& plan, Machines& machines, Servers& servers, ToldLosses& told,
                 TurnWatch& turns, FarTruths& far, Truths& truths, EventLog& log)
    : events_(events),
      plan_(plan),
      machines_(machines),
      turns_(turns),
      far_(far),
      truths_(truths),
      log_(log),
      headers_(plan, truths),
      penalties_(plan, truths),
      regions_(plan, servers, truths),
      chance_(plan.course),
      patience_(longest_wait(plan)) {
    for (std::size_t i = 0; i < plan.traffic.limits.size(); ++i) {
        limits_.emplace_back(plan, i, servers, told, truths);
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
            lose(account_of(visit->key, worker), std::max(visit->cost, visit->reserve));
            if (visit->request->is_admitted()) {
                end(*visit);
                let_go(*visit);
            }
        }
        events_.cancel(visit->next);
        visits_.erase(visit);
    }
    for (const Recent& recent : recent_) {
        if (recent.machine == worker.loop().clock) {
            lose(recent.account, recent.cost);
        }
    }
    // A batch may have been on its way there, and another one back.
    const std::int64_t most_lost_by_a_worker = 2 * largest_refund(plan_);
    for (LimitTruths& limit : limits_) {
        memory ? limit.lose_memory(plan_.sites.region_of(worker.loop().machine))
               : limit.lose_refunds(most_lost_by_a_worker);
    }
}

/// Something of the request may be charged, or not, or given back, or not.
void Traffic::lose(const Account& account, std::int64_t cost) {
    for (LimitTruths& limit : limits_) {
        limit.lose(account, cost);
    }
}

void Traffic::note_recent(const Visit& visit) {
    if (!plan_.machines.has(MachineFault::kill)) {
        return;
    }
    recent_.push_back(
        {visit.worker->loop().clock, events_.now(), account_of(visit.key, *visit.worker), 2 * visit.cost});
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
    Arrival arrival{Purpose::ordinary, key, cost};
    if (plan_.traffic.reserve != 0 && chance_.percent(plan_.traffic.reserve)) {
        arrival.reserve = chance_.between(1, 2 * cost);
    }
    begin_request(arrival, choice);
    return true;
}

void Traffic::begin_request(const Arrival& arrival, const Machines::Choice& at) {
    ++count_;
    visits_.push_back({nullptr, at.worker, at.memory, arrival.key, arrival.cost, events_.now(),
                       arrival.purpose, arrival.told});
    Visit& visit = visits_.back();
    RequestSetup setup("client" + std::to_string(arrival.key), arrival.cost);
    setup.reserve = arrival.reserve;
    visit.reserve = arrival.reserve.value_or(0);
    visit.request = std::make_unique<ClientRequest>(
        *at.worker, std::move(setup), [this, &visit](ClientRequest&) { decided(visit); },
        [this, &visit](ClientRequest&) { come_to_turn(visit); });
    begin(visit);
}

void Traffic::begin(Visit& visit) {
    const Loop& loop = visit.worker->loop();
    if (loop.stalls()) {
        visit.next = events_.at(loop.stalled_until(), [this, &visit] { begin(visit); });
        return;
    }
    visit.begun = events_.now();
    for (std::size_t i = 0; i < limits_.size(); ++i) {
        visit.known[i] =
            limits_[i].begin(visit.key, visit.memory, visit.worker->configuration(), events_.now());
    }
    turns_.count_reason();
    far_.begin();
    regions_.begin(visit.key);
    visit.request->begin();
    far_.end_begin();
    const bool ordinary = visit.purpose == Purpose::ordinary;
    if (ordinary && !visit.request->is_decided() && chance_.percent(plan_.traffic.aborted)) {
        visit.next = events_.in(chance_.below(1'000), [this, &visit] {
            if (visit.worker->loop().stalls()) {
                return;
            }
            log_.add("aborts key ", visit.key);
            turns_.count_reason();
            note_recent(visit);
            tell(visit);
            visit.request->abort();
            regions_.end(visit.key);
            for (LimitTruths& limit : limits_) {
                limit.give_back_unseen(claim_of(visit, limit), std::max(visit.cost, visit.reserve));
            }
            come_again();
        });
    }
}

void Traffic::decided(Visit& visit) {
    visit.decided = events_.now();
    events_.cancel(visit.next);
    turns_.count_reason();
    ClientRequest& request = *visit.request;
    log_.add("key ", visit.key, " cost ", visit.cost, ": ", to_string(request.outcome));
    for (std::size_t i = 0; i < request.count(); ++i) {
        const Verdict& verdict = request.applied(i).verdict;
        const char* const failure = request.applied(i).failure;
        log_.add("  ", verdict.name, ": ", to_string(verdict.outcome), ", used ", verdict.window.used,
                 " until ", verdict.window.reset, failure != nullptr ? ", as " : "",
                 failure != nullptr ? failure : "");
    }
    const Micros waited = events_.now() - visit.begun;
    if (waited > patience_ && visit.worker->loop().stalled_until() < visit.begun) {
        truths_.fail("a request waited for " + std::to_string(waited) + " us");
    }
    far_.decided(request, visit.begun);
    check_headers(visit);
    check_regions(visit);
    note_confirmed(visit);
    tell(visit);
    if (visit.purpose != Purpose::ordinary) {
        decided_when_well(visit);
    }
    if (request.is_admitted()) {
        admitted(visit);
        request.waiting() ? wait_for_turn(visit) : run(visit);
    } else {
        note_recent(visit);
        regions_.end(visit.key);
        come_again();
    }
}

void Traffic::run(Visit& visit) {
    const bool ordinary = visit.purpose == Purpose::ordinary;
    const Micros runs = 1 + (ordinary ? chance_.below(plan_.traffic.longest) : 0);
    visit.next = events_.in(runs, [this, &visit] { end_request(visit); });
}

/// Some clients leave, and all for whom it takes too long.
void Traffic::wait_for_turn(Visit& visit) {
    const Micros turn = static_cast<Micros>(visit.request->delay) * 1000;
    if (turn > client_waits || chance_.percent(10)) {
        visit.next =
            events_.in(chance_.below(std::min(turn, client_waits)), [this, &visit] { leave_queue(visit); });
    }
}

/// A worker that stalls, or has more to let go on than one turn takes, is late; one that has read its clock a
/// while before its turn is early by that.
void Traffic::come_to_turn(Visit& visit) {
    events_.cancel(visit.next);
    turns_.count_reason();
    const Micros turn = visit.decided + static_cast<Micros>(visit.request->delay) * 1000;
    const Micros others = static_cast<Micros>(visits_.size() / Delays::most_a_turn) * 1000;
    const Micros early = 1'000 + plan_.machines.clocks.front().read_before;  // all have the same
    const bool in_time = events_.now() >= turn - early && events_.now() <= turn + late + others;
    if (!in_time && visit.worker->loop().stalled_until() < visit.decided) {
        truths_.fail("a request came to its turn of " + std::to_string(turn) + " at " +
                     std::to_string(events_.now()));
    }
    log_.add("key ", visit.key, " comes to its turn");
    run(visit);
}

/// Its client does not wait any longer.
void Traffic::leave_queue(Visit& visit) {
    if (visit.worker->loop().stalls()) {
        visit.next = events_.at(visit.worker->loop().stalled_until(), [this, &visit] { leave_queue(visit); });
        return;
    }
    log_.add("key ", visit.key, " leaves its queue");
    end(visit);
    turns_.count_reason();
    visit.request->abort();
    settled(visit);
}

void Traffic::check_headers(const Visit& visit) {
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        headers_.check({*visit.request,
                        i,
                        {visit.key, visit.memory},
                        cost_before(visit, applied),
                        visit.begun,
                        events_.now()},
                       limits_[number_of(applied)]);
        if (limits_[number_of(applied)].is_in_one_place()) {  // else a penalty stays where the window was
            penalties_.decided(*visit.request, i, number_of(applied), {visit.key, visit.memory}, visit.begun,
                               events_.now());
        }
    }
}

void Traffic::check_regions(const Visit& visit) {
    const Loop& loop = visit.worker->loop();
    const RegionTruths::Asking asking{visit.key,
                                      loop.machine,
                                      visit.memory,
                                      loop.pid(),
                                      visit.begun,
                                      events_.now(),
                                      visit.purpose == Purpose::asks};
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const std::size_t number = number_of(visit.request->applied(i));
        regions_.decided(asking, number, visit.request->applied(i), limits_[number]);
    }
    regions_.decided(asking);
}

/// The limits learn what its machine knows as confirmed.
void Traffic::note_confirmed(const Visit& visit) {
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        const auto known = visit.worker->zone().windows().find<ConfirmedRecord>(confirmed_id_of(applied.id));
        if (known) {
            limits_[number_of(applied)].confirmed(visit.key, visit.memory, *known, events_.now());
        }
    }
}

/// The limits learn which windows the request was told; none where it is not decided.
void Traffic::tell(const Visit& visit) {
    const bool over = visit.request->is_decided();
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        AppliedLimit& applied = visit.request->applied(i);
        const Verdict& verdict = applied.verdict;
        const bool decided = verdict.outcome == Outcome::passed || verdict.outcome == Outcome::rejected;
        // A request whose answer was lost, or comes too late, is rejected by memory where that knows enough.
        const Answer* answer = applied.answer();
        const bool answered =
            decided && (answer == nullptr || answer->failure() == nullptr) && !applied.in_doubt();
        limits_[number_of(applied)].tell(
            visit.key,
            {visit.memory, cost_before(visit, applied), visit.begun, events_.now(),
             over && verdict.known && !is_penalized(applied) ? verdict.window.reset : 0, over && answered});
    }
}

void Traffic::admitted(Visit& visit) {
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        const std::size_t number = number_of(applied);
        LimitTruths& limit = limits_[number];
        if (applied.verdict.outcome == Outcome::passed) {
            limit.enter(visit.key, visit.known[number], visit.begun, events_.now());
            visit.numbers[number] = limit.admit(claim_of(visit, limit), cost_before(visit, applied),
                                                applied.verdict.window.reset, visit.begun, events_.now());
            limit.check_queue(claim_of(visit, limit), static_cast<Micros>(visit.request->delay) * 1000);
        }
    }
}

/// It does not run any more.
void Traffic::end(Visit& visit) {
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        LimitTruths& limit = limits_[number_of(applied)];
        if (applied.verdict.outcome == Outcome::passed && limit.counts_running()) {
            limit.leave(claim_of(visit, limit));
        }
    }
}

/// Its charge is known, or nothing is.
void Traffic::let_go(const Visit& visit) {
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        if (applied.verdict.outcome == Outcome::passed) {
            const std::size_t number = number_of(applied);
            limits_[number].leave(visit.key, visit.known[number], applied.charged);
        }
    }
}

void Traffic::end_request(Visit& visit) {
    if (visit.worker->loop().stalls()) {
        visit.next = events_.at(visit.worker->loop().stalled_until(), [this, &visit] { end_request(visit); });
        return;
    }
    end(visit);
    turns_.count_reason();
    note_confirmed(visit);
    if (visit.purpose != Purpose::ordinary) {
        visit.request->end();
    } else if (chance_.percent(plan_.traffic.costs_later)) {
        visit.request->end_at_cost(chance_.between(1, 2 * visit.cost));
    } else {
        visit.request->end(chance_.percent(plan_.traffic.exempt));
    }
    settled(visit);
}

/// The charges of all limits are known.
void Traffic::settled(Visit& visit) {
    regions_.end(visit.key);
    note_recent(visit);
    let_go(visit);
    for (std::size_t i = 0; i < visit.request->count(); ++i) {
        const AppliedLimit& applied = visit.request->applied(i);
        const std::size_t number = number_of(applied);
        LimitTruths& limit = limits_[number];
        limit.charge(account_of(visit.key, *visit.worker), applied.charged, events_.now());
        regions_.charge(number, account_of(visit.key, *visit.worker), applied.charged, events_.now());
        if (applied.verdict.outcome == Outcome::passed && applied.charged > 0) {
            headers_.note_lasting(limit, {visit.key, visit.memory}, applied.verdict.window.reset,
                                  visit.decided);
        }
        log_.add("key ", visit.key, " ends: ", applied.limit.name, " charges ", applied.charged);
        const std::int64_t back = cost_before(visit, applied) - applied.charged;
        if (applied.verdict.outcome == Outcome::passed && back > 0) {
            limit.give_back(claim_of(visit, limit), visit.numbers[number], back,
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

/// So much the limit wants before the request, or knows of its cost by then.
std::int64_t Traffic::cost_before(const Visit& visit, const AppliedLimit& applied) {
    return applied.reserved.value_or(visit.cost);
}

Account Traffic::account_of(std::size_t key, const WorkerProcess& worker) const {
    return {key, plan_.sites.region_of(worker.loop().machine)};
}

Claim Traffic::claim_of(const Visit& visit, const LimitTruths& limit) const {
    return {visit.key, limit.is_local() ? visit.memory : 0};
}

/// Limits are called l0, l1 and so on.
std::size_t Traffic::number_of(const AppliedLimit& applied) const {
    return static_cast<std::size_t>(applied.limit.name[1] - '0');
}

}  // namespace rate_limit::world
