#include "limiter/modes/local.h"

#include "limiter/kinds/window.h"
#include "limiter/zone.h"

namespace rate_limit {

/// Recalls only if other limits apply too: if it is alone, admit() looks at the record anyway.
bool Local::recalls_first(const AppliedLimit& /*applied*/, bool alone) const noexcept {
    return !alone;
}

Recalled Local::recall(AppliedLimit& applied, Millis now) const noexcept {
    const auto full = full_window(applied, need(applied), now);
    return full ? reject_by(applied, *full, need(applied)) : Recalled::nothing;
}

Admission Local::admit(AppliedLimit& applied, Millis now) const noexcept {
    const Holding::Kind kind = reserves_ ? Holding::Kind::reserved : Holding::Kind::in_flight;
    const Admission admission = enter_window(applied, {need(applied), kind}, {}, now);
    if (admission == Admission::unchecked) {
        applied.failure = "no room in \"rate_limit_zone\": enlarge it";
    }
    return admission;
}

void Local::settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept {
    const bool reserved = applied.holding.kind == Holding::Kind::reserved;
    const Holding holding = applied.take_holding();
    const std::int64_t charged = reserved ? holding.cost : 0;
    if (reserved && due == charged) {
        return;
    }
    if (due == 0) {
        give_back_here(applied, holding);
        return;
    }
    const Terms terms = terms_of(applied, now);
    // Without room nothing is held, and there is nowhere to charge. What is above an estimate counts in the
    // next window, if that one has ended.
    (void)applied.zone->windows().update(applied.id, now, [&](WindowRecord& record) {
        if (due < charged) {
            refund(record, holding.ticket, charged - due);
        } else if (charged == 0 || applied.reserved ||
                   (record.ticket == holding.ticket && is_open(record, terms.rate.period, now))) {
            charge(record, terms, due - charged);
        }
        if (holding.kind == Holding::Kind::in_flight) {
            rate_limit::leave(record, holding.ticket);
        }
    });
}

const Local local_charge(false);
const Local local_reserve(true);

}  // namespace rate_limit
