#include "bench/simulate/mode.h"

#include <utility>

#include "bench/simulate/world.h"

namespace rate_limit::simulated {

std::optional<WindowRecord> open_window(const Request& request) noexcept {
    Machine& machine = request.machine();
    auto record = machine.windows().find(request.id);
    if (record && !is_open(*record, request.world->setup.rate.period, machine.now())) {
        record.reset();
    }
    return record;
}

std::optional<WindowRecord> full_window(const Request& request) noexcept {
    auto record = open_window(request);
    if (record && taken(*record) < request.world->setup.rate.limit) {
        record.reset();
    }
    return record;
}

Recalled reject_by(Request& request, const WindowRecord& record) noexcept {
    request.shown = {record.used - at_hand(record), record.reset};
    return Recalled::used_up;
}

Recalled confirm_or_reject(Request& request, const WindowRecord& record) noexcept {
    Machine& machine = request.machine();
    const Millis now = machine.now();
    request.doubtful = record.unanswered != 0;
    WindowRecord seen = record;
    bool turn = !is_on_its_way(seen, now, Charges::patience) && may_ask(seen, now);
    if (turn) {
        machine.windows().change(request.id, [&](WindowRecord& open) {
            turn = may_ask(open, now);
            request.events = static_cast<std::uint32_t>(open.events);
        });
    }
    if (turn) {
        reject_by(request, record);
        return Recalled::to_confirm;
    }
    return request.doubtful ? Recalled::nothing : reject_by(request, record);
}

bool may_be_used_up(const Request& request) noexcept {
    return request.machine().used_up().may_contain(request.id);
}

void note_used_up(Request& request) noexcept {
    request.machine().used_up().note(request.id, request.machine().now());
}

void charge_redis(Request& request, bool stays) {
    const Terms terms = request.terms();
    const Holding holding = std::exchange(request.holding, Holding{});
    Debt owed;
    owed.cost = 1;
    owed.reset = request.shown.reset;
    bool open = request.open;
    (void)request.machine().windows().update(request.id, terms.now, [&](WindowRecord& record) {
        open = request.open && (record.lasting || stays) && record.confirmed &&
               is_open(record, terms.rate.period, terms.now);
        send(record, terms, 1);
        if (holding.kind == Holding::Kind::in_flight) {
            leave(record, holding.ticket);
        }
        owed.reset = record.reset;
        owed.receipt = {record.ticket, static_cast<std::uint32_t>(record.events)};
    });
    request.channel().charges.charge(request.key, owed, open);
}

}  // namespace rate_limit::simulated
