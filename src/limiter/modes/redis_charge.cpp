#include "limiter/modes/redis_charge.h"

#include "limiter/kinds/window.h"
#include "limiter/modes/mode.h"
#include "limiter/zone.h"

namespace rate_limit {

bool finds_window(const AppliedLimit& applied, Millis reset, Millis now) noexcept {
    return !applied.limit.keeps_keys ||
           applied.shard().charges().saw_begin(reset - applied.verdict.rate.period * 1000, now);
}

Charge owe(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept {
    const Terms terms = terms_of(applied, now);
    const Holding holding = applied.take_holding();
    const Verdict& verdict = applied.verdict;
    Charge charge;
    charge.key = applied.key;
    charge.open = applied.open;
    charge.owed.cost = cost;
    charge.owed.period = verdict.rate.period;
    charge.owed.window_kind = applied.kind();
    charge.owed.reset = verdict.known ? verdict.window.reset : 0;
    charge.owed.id = applied.id;
    charge.owed.only_grows = !applied.mode->needs_cost();
    // Without room the charge goes by what the check found.
    std::int64_t lost = 0;  // tokens of a window that has ended
    (void)applied.zone->windows().update(applied.id, now, [&](WindowRecord& record) {
        // A plain increment goes only to a window that the store has called open, and that no refund can have
        // emptied and deleted: it would make a key without a reset, which the next script would not count.
        const bool stays = record.lasting || charge.owed.only_grows;
        // And the script alone stops a count that is too great.
        charge.open = applied.open && stays && record.confirmed && record.used < most_used - cost &&
                      is_open(record, terms.rate.period, now) && finds_window(applied, record.reset, now);
        lost = at_hand(record);
        send(record, terms, cost);
        lost -= at_hand(record);
        // Only now: a proposed window is forgotten when its last request leaves it uncharged.
        if (holding.kind == Holding::Kind::in_flight) {
            leave(record, holding.ticket);
        }
        charge.owed.reset = record.reset;
        charge.owed.receipt = {record.ticket, static_cast<std::uint32_t>(record.events)};
    });
    applied.shard().counters().add(TokenEvent::lost, lost);
    return charge;
}

void charge_redis(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept {
    const Charge charge = owe(applied, cost, now);
    if (applied.in_doubt()) {
        applied.shard().charges().stop_awaiting(charge.owed);
    } else {
        applied.shard().charges().charge(charge);
    }
}

}  // namespace rate_limit
