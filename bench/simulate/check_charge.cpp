#include "bench/simulate/check_charge.h"

#include "bench/simulate/world.h"

namespace rate_limit::simulated {

Recalled CheckCharge::recall(Request& request) const {
    if (!fresh_ && !may_be_used_up(request)) {
        return Recalled::nothing;
    }
    const auto known = open_window(request);
    if (!known) {
        return Recalled::nothing;
    }
    const Terms terms = request.terms();
    if (taken(*known) < terms.rate.limit) {
        request.open = fresh_ && may_stand_for_check(*known, terms, default_freshness(terms.rate.period)) &&
                       enter_window(request, nullptr);
        return request.open ? Recalled::admitted : Recalled::nothing;
    }
    return known->used < terms.rate.limit ? reject_by(request, *known) : confirm_or_reject(request, *known);
}

void CheckCharge::ask(Request& request) const {
    Channel& channel = request.channel();
    const bool confirms = request.recalled == Recalled::to_confirm;
    if (confirms) {
        channel.charges.go_before(request.key);
    }
    Link& link = !confirms && channel.replica.usable() ? channel.replica : channel.primary;
    link.send(link.take(Command::check, request.key, request));
}

void CheckCharge::take_answer(Request& request, Message& message) const {
    request.open = is_open(message.window, request.world->setup.rate.period, request.machine().now());
    enter_window(request, &message.window) ? request.pass() : request.reject();
}

/// Takes in the answer, null: there is none, and lets the request in if there is room.
bool CheckCharge::enter_window(Request& request, const Window* answer) const {
    Machine& machine = request.machine();
    const Terms terms = request.terms();
    const Question question = machine.question(request.key, request.events);
    bool admitted = false;
    bool full = false;
    const bool room = machine.windows().update(request.id, terms.now, [&](WindowRecord& record) {
        if (answer != nullptr && request.recalled == Recalled::to_confirm) {
            replace(record, terms, *answer, question);
        } else if (answer != nullptr) {
            learn(record, terms, *answer);
        }
        const bool open = is_open(record, terms.rate.period, terms.now);
        admitted = (open ? taken(record) : 0) < terms.rate.limit && enter(record, terms);
        full = !admitted || taken(record) >= terms.rate.limit;
        if (admitted) {
            request.holding = {Holding::Kind::in_flight, record.ticket, 0};
        } else if (answer != nullptr) {
            heard(record, terms.now);
        }
        request.shown = {record.used, record.reset};
    });
    if (!room) {  // the node's answer decides
        request.shown = answer != nullptr && request.open ? *answer : Window{0, terms.proposed};
        return answer != nullptr && request.shown.used < terms.rate.limit;
    }
    if (full) {
        note_used_up(request);
    }
    return admitted;
}

/// Settles as src/limiter/modes/redis_charge.cpp does.
void CheckCharge::settle(Request& request) const {
    const Terms terms = request.terms();
    Debt owed;
    owed.cost = 1;
    owed.reset = request.shown.reset;
    bool open = request.open;
    (void)request.machine().windows().update(request.id, terms.now, [&](WindowRecord& record) {
        open = open && record.confirmed && is_open(record, terms.rate.period, terms.now);
        send(record, terms, 1);
        if (request.holding.kind == Holding::Kind::in_flight) {
            leave(record, request.holding.ticket);
        }
        owed.reset = record.reset;
        owed.receipt = {record.ticket, static_cast<std::uint32_t>(record.events)};
    });
    request.channel().charges.charge(request.key, owed, open);
}

}  // namespace rate_limit::simulated
