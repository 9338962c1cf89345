#include "bench/simulate/mode.h"

#include "bench/simulate/charge_refund.h"
#include "bench/simulate/check_charge.h"
#include "bench/simulate/lease.h"
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

namespace {

const CheckCharge check_charge(true);
const CheckCharge check_charge_unfresh(false);
const ChargeRefund charge_refund_mode;
const Lease lease_mode;

}  // namespace

const Mode& mode_of(Way way) noexcept {
    switch (way) {
        case Way::check_charge:
            return check_charge;
        case Way::check_charge_unfresh:
            return check_charge_unfresh;
        case Way::charge_refund:
            return charge_refund_mode;
        default:
            return lease_mode;
    }
}

}  // namespace rate_limit::simulated
