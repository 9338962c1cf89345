#include "ngx/store/reserve_command.h"

#include "ngx/store/charges.h"

namespace rate_limit {

void ReserveCommand::begin(std::string_view of_window, const Demand& what, Charges& of) {
    key.assign(of_window);
    demand = what;
    parts = 1;
    charges = &of;
    begin_by_digest();
}

std::string_view ReserveCommand::encode(CommandWriter& writer) {
    sent_at_ = now_millis();
    const Opening opening{key, sent_at_, propose_reset(demand.window_kind, demand.rate.period, sent_at_),
                          latest_reset(demand.rate.period, sent_at_)};
    return writer.reserve(opening, {demand.rate.limit, demand.want, demand.least, parts}, with_text());
}

Fault ReserveCommand::read(const Reply& reply, std::int64_t& granted, Window& window) const noexcept {
    const ReserveCall call{demand.rate.limit, demand.rate.period, demand.want, demand.least, sent_at_};
    return read_reserve(reply, call, granted, window);
}

Fault ReserveCommand::judge(Node& node, const Reply& reply, std::int64_t& granted, Window& window) noexcept {
    const Fault fault = read(reply, granted, window);
    if (fault == Fault::none) {
        node.served();
        if (granted != 0) {
            charges->proven();
        }
    } else {
        // Errors other than READONLY may concern reservations alone: charges find out by themselves.
        const Blame blame = node.blame(fault, name(), reply, Access::write);
        if (blame == Blame::writes && fault == Fault::readonly) {
            charges->refused(fault, name(), reply);
        }
    }
    return fault;
}

}  // namespace rate_limit
