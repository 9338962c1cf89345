#include "bench/simulate/charge_refund.h"

#include "bench/simulate/world.h"

namespace rate_limit::simulated {

namespace {

/// The end of the window, if this machine knows it as open with room for the request, and a plain increment
/// does.
Millis known_open_until(const Request& request) {
    const Millis now = request.machine().now();
    const auto known = open_window(request);
    const bool room =
        known && known->lasting && !has_check_turn(*known) && has_room(*known, request.terms(), 1);
    return room && Charges::outlasts_answer(known->reset, now) ? known->reset : 0;
}

}  // namespace

Recalled ChargeRefund::recall(Request& request) const {
    const auto full = may_be_used_up(request) ? full_window(request) : std::nullopt;
    return full ? confirm_or_reject(request, *full) : Recalled::nothing;
}

void ChargeRefund::ask(Request& request) const {
    request.open_until = known_open_until(request);
    Channel& channel = request.channel();
    if (request.open_until == 0) {
        reserve(request);
        return;
    }
    channel.charges.go_before(request.key);
    Message& message = channel.primary.take(Command::increment, request.key, request);
    message.cost = 1;
    channel.primary.send(message);
}

void ChargeRefund::reserve(Request& request) const {
    Channel& channel = request.channel();
    const Terms terms = request.terms();
    channel.charges.go_before(request.key);
    Message& message = channel.primary.take(Command::reserve, request.key, request);
    message.opening = {{}, terms.now, terms.proposed, latest_reset(terms.rate.period, terms.now)};
    message.wanted = {terms.rate.limit, 1, 1, 1, request.back, request.open_until, {}};
    channel.primary.send(message);
}

void ChargeRefund::take_answer(Request& request, Message& message) const {
    if (message.command == Command::reserve) {
        admit(request, message.granted, message.window);
    } else if (message.command == Command::repair) {
        const Window told = message.window;
        admit(request, 1, told.reset != 0 ? told : Window{1, request.open_until});
    } else if (message.window.used == 1) {
        const Terms terms = request.terms();
        Message& repair = message.link->take(Command::repair, request.key, request);
        repair.opening = {{}, terms.now, terms.proposed, latest_reset(terms.rate.period, terms.now)};
        message.link->send(repair);
    } else if (message.window.used > request.world->setup.rate.limit) {
        request.back = 1;
        reserve(request);
    } else {
        admit(request, 1, {message.window.used, request.open_until});
    }
}

void ChargeRefund::admit(Request& request, std::int64_t granted, const Window& answer) const {
    Machine& machine = request.machine();
    const Terms terms = request.terms();
    const Question question = machine.question(request.key, request.events);
    const bool admitted = granted != 0;
    (void)machine.windows().update(request.id, terms.now, [&](WindowRecord& record) {
        if (request.recalled == Recalled::to_confirm) {
            replace(record, terms, answer, question);
        } else {
            learn(record, terms, answer);
        }
        if (!admitted) {
            heard(record, terms.now);
        }
    });
    if (!admitted || answer.used >= terms.rate.limit) {
        note_used_up(request);
    }
    request.open = is_open(answer, terms.rate.period, terms.now);
    request.shown = {answer.used - granted, answer.reset};
    if (!admitted) {
        request.reject();
        return;
    }
    request.holding = {Holding::Kind::reserved, 0, answer.reset};
    request.world->measures.counted(request.key, answer.reset, 1, request.world->events.now());
    request.pass();
}

void ChargeRefund::settle(Request& request) const {
    if (request.holding.kind == Holding::Kind::reserved &&
        request.open_until == 0) {  // else the record says so
        request.machine().windows().change(
            request.id, [&](WindowRecord& record) { note_lasting(record, request.holding.reset); });
    }
}

}  // namespace rate_limit::simulated
