#include "limiter/leases/grant_command.h"

#include <algorithm>

#include "limiter/charges/charges.h"
#include "limiter/charges/write_blame.h"
#include "redis/script_reply.h"

namespace rate_limit {

void GrantCommand::begin(std::string_view of_window, const Demand& what, Charges& of) {
    key.assign(of_window);
    demand = what;
    parts = 1;
    back = 0;
    back_to = 0;
    number = 0;
    wanted_before = 0;
    charges = &of;
    why = Doubt::untold;
    begin_by_digest();
}

std::string_view GrantCommand::write(CommandWriter& writer) {
    sent_at_ = now_millis();
    asked_ = steady_nanos();
    const Opening opening = opening_at(sent_at_);
    const Wanted wanted{demand.rate.limit, demand.want, demand.least, parts, back, back_to, {{}, number}};
    return rate_limit::write(writer, opening, demand, wanted, with_text());
}

Opening GrantCommand::opening_at(Millis now) const noexcept {
    return {key, now, propose_reset(demand.window_kind, demand.rate.period, now),
            latest_reset(demand.rate.period, now)};
}

Fault GrantCommand::read(Node& node, const Reply& reply, Told& told) noexcept {
    if (!draws()) {
        const ReserveCall call{demand.rate.limit, demand.rate.period, demand.want,
                               demand.least,      sent_at_,           wanted_before};
        return read_reserve(reply, call, told.granted, told.window);
    }
    const Fault fault = read_told(reply, told);
    if (fault == Fault::none) {
        node.clock().learn(told.clock, asked_, steady_nanos());
    }
    return fault;
}

Fault GrantCommand::judge(Node& node, const Reply& reply, Told& told) noexcept {
    const Fault fault = read(node, reply, told);
    blame(node, fault, reply);
    if (told.granted != 0) {
        charges->proven(node);
    }
    return fault;
}

Delivery GrantCommand::became(Node& node, Delivery delivery, const Reply* reply) noexcept {
    const bool former = delivery == Delivery::answered && !node.is_primary();
    why = former ? Doubt::answered_by_former : Doubt::untold;
    if (!former) {
        const bool doubtful = delivery == Delivery::answered && stored_without_expiry(*reply);
        if (doubtful) {
            blame(node, fault_of(*reply), *reply);
        }
        return doubtful ? Delivery::in_doubt : delivery;
    }
    // The charge that is to go back first may be lost as well.
    const bool took = !reply->is_error() || back != 0 || stored_without_expiry(*reply);
    return took ? Delivery::in_doubt : Delivery::unsent;
}

void GrantCommand::doubt(const Debt* owed) noexcept {
    owed != nullptr ? charges->doubt(*owed, why) : charges->doubt_reservation(why);
}

void GrantCommand::blame(Node& node, Fault fault, const Reply& reply) noexcept {
    blame_write(node, *charges, fault, name(), reply);
}

}  // namespace rate_limit
