#include "bench/simulate/charges.h"

#include <algorithm>

#include "bench/simulate/machine.h"
#include "bench/simulate/world.h"

namespace rate_limit::simulated {

void Charges::charge(Key key, const Debt& owed, bool open) {
    traffic_.add(static_cast<std::uint64_t>(world_.millis()));
    if (joins(key, owed, open)) {
        schedule_batch();
        return;
    }
    Charge& charge = world_.charges.take();
    charge.of = this;
    charge.key = key;
    charge.window = world_.id_of(key);
    charge.owed = owed;
    charge.plain = open;
    charge.waited = false;
    charge.number = 0;
    if (!primary_.usable()) {
        wait(charge);
        return;
    }
    queued_.push(charge);
    schedule_batch();
}

bool Charges::joins(Key key, const Debt& owed, bool open) noexcept {
    Charge* queued = queued_.find(world_.id_of(key), [&owed](const Charge& charge) {
        return charge.owed.is_refund == owed.is_refund && charge.owed.reset == owed.reset &&
               charge.owed.receipt.ticket == owed.receipt.ticket;
    });
    if (queued == nullptr) {
        return false;
    }
    queued->owed.join(owed);
    queued->owed.receipt = owed.receipt;
    queued->plain = queued->plain && open;
    return true;
}

void Charges::refund(Key key, std::int64_t cost, Millis reset) {
    worker_.machine().windows().change(world_.id_of(key), [&](WindowRecord& record) {
        if (record.reset == reset && record.confirmed) {
            record.used = std::max<std::int64_t>(0, record.used - cost);
        }
    });
    charge(key, {true, cost, 1, reset, {}}, false);
}

void Charges::go_before(Key key) {
    while (Charge* charge = queued_.take(world_.id_of(key))) {
        send(*charge);
    }
}

void Charges::stop_awaiting(Key key, const Debt& owed) {
    if (!owed.is_refund) {
        Machine& machine = worker_.machine();
        machine.windows().change(world_.id_of(key), [&](WindowRecord& record) {
            count_answered(record, owed.receipt.ticket, owed.charges, machine.now());
        });
    }
}

void Charges::close_gate() {
    while (Charge* charge = queued_.pop()) {
        wait(*charge);
    }
}

/// It waits in the machine, where any worker may take it up.
void Charges::wait(Charge& charge) {
    worker_.machine().wait(charge.key, charge.owed);
    world_.charges.put_back(charge);
}

void Charges::kill() {
    while (Charge* charge = queued_.pop()) {
        world_.measures.in_doubt += charge->owed.is_refund ? 0 : charge->owed.charges;
        world_.charges.put_back(*charge);
    }
    for (Charge* charge : again_) {
        world_.charges.put_back(*charge);
    }
    again_.clear();
    under_way_ = 0;
    due_ = -1;
}

void Charges::set(Micros in) {
    due_ = world_.events.now() + in;
    world_.events.at(due_, *this);
}

void Charges::happen() {
    if (world_.events.now() == due_) {
        due_ = -1;
        send_batch();
    }
}

void Charges::schedule_batch() {
    if (under_way_ != 0) {
        return;
    }
    const Millis since = world_.millis() - sent_;
    if (since < pause && traffic_.is_dense() && !worker_.machine().has_waiting()) {
        if (due_ < 0) {
            set((pause + grace - since) * 1000);
        }
    } else {
        set(0);
    }
}

void Charges::send_batch() {
    if (under_way_ != 0 || !primary_.usable()) {
        return;
    }
    due_ = -1;
    sent_ = world_.millis();
    ++under_way_;  // one more until all are sent
    Charge* charge = nullptr;
    for (std::size_t most = max_batch; most != 0 && (charge = queued_.pop()) != nullptr; --most) {
        send(*charge);
    }
    send_waiting();
    --under_way_;
}

void Charges::send_waiting() {
    std::size_t most = max_waited;
    for (; most != 0 && !again_.empty(); --most) {
        Charge& charge = *again_.front();
        again_.pop_front();
        send(charge);
    }
    Machine& machine = worker_.machine();
    for (; most != 0 && machine.has_waiting(); --most) {
        Charge& charge = world_.charges.take();
        charge.of = this;
        charge.number = 0;
        machine.take_waiting(charge.key, charge.owed);
        charge.window = world_.id_of(charge.key);
        charge.owed.receipt.events = Receipt::no_event;
        charge.plain = false;
        charge.waited = true;
        if (charge.owed.reset <= machine.now()) {
            world_.charges.put_back(charge);  // its window has closed
            continue;
        }
        machine.windows().change(charge.window, [&](WindowRecord& record) { resend(record, machine.now()); });
        send(charge);
    }
}

void Charges::send(Charge& charge) {
    ++under_way_;
    const Millis now = worker_.machine().now();
    const std::int64_t period = world_.setup.rate.period;
    const Debt& owed = charge.owed;
    charge.plain = charge.plain && reaches(owed.reset, now);
    Message& message = primary_.take(owed.is_refund ? Command::refund
                                     : charge.plain ? Command::increment
                                                    : Command::charge,
                                     charge.key, charge);
    message.cost = owed.cost;
    message.reset = owed.reset;
    const Millis proposed = owed.reset > now ? owed.reset : propose_reset(WindowKind::first, period, now);
    message.opening = {{}, now, proposed, latest_reset(period, now)};
    if (owed.is_refund) {
        charge.number = charge.number != 0 ? charge.number : worker_.next_number();
        message.numbered = {worker_.name(), charge.number};
    }
    primary_.send(message);
}

void Charges::end(Charge& charge) {
    world_.charges.put_back(charge);
    if (under_way_ > 0) {
        --under_way_;
    }
    if (!queued_.empty() || worker_.machine().has_waiting() || !again_.empty()) {
        schedule_batch();
    }
}

void Charges::take_answer(Charge& charge, const Message& message) {
    const Debt& owed = charge.owed;
    Machine& machine = worker_.machine();
    const Window answer{message.window.used,
                        message.command == Command::increment ? owed.reset : message.window.reset};
    machine.windows().change(charge.window, [&](WindowRecord& record) {
        if (owed.is_refund) {
            confirm_refund(record, owed.reset, answer);
        } else {
            confirm(record, owed.receipt, owed.charges, world_.setup.rate.period, machine.now(), answer);
        }
    });
}

void Charge::answered(Message& message) {
    Charges& charges = *of;
    const Millis now = charges.worker_.machine().now();
    if (message.command == Command::increment && message.window.used == owed.cost) {
        Message& repair = message.link->take(Command::repair, key, *this);
        const std::int64_t period = charges.world_.setup.rate.period;
        const Millis proposed = owed.reset > now ? owed.reset : propose_reset(WindowKind::first, period, now);
        repair.opening = {{}, now, proposed, latest_reset(period, now)};
        message.link->send(repair);
        return;
    }
    charges.take_answer(*this, message);
    charges.end(*this);
}

void Charge::lost(Message& message, bool sent) {
    Charges& charges = *of;
    if (!sent) {
        charges.worker_.machine().wait(key, owed);
    } else if (owed.is_refund) {
        if (charges.under_way_ > 0) {
            --charges.under_way_;
        }
        charges.again_.push_back(this);
        return;
    } else {
        charges.stop_awaiting(key, owed);
        charges.world_.measures.in_doubt += message.command == Command::repair ? 0 : owed.charges;
    }
    charges.end(*this);
}

void Charge::killed() {
    of->world_.charges.put_back(*this);
}

}  // namespace rate_limit::simulated
