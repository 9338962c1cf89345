#include "ngx/modes/tokens.h"

#include "core/machine/tokens.h"
#include "ngx/base/zone.h"

namespace rate_limit {

namespace {

void hold(AppliedLimit& applied, std::int64_t tokens, Millis reset) noexcept {
    applied.held = tokens != 0 ? Held::leased : Held::nothing;
    applied.reserved = tokens;
    applied.held_in = reset;
}

bool consume_here(AppliedLimit& applied, const Terms& terms, std::int64_t cost, bool& low,
                  WindowRecord& seen) noexcept {
    bool consumed = false;
    applied.zone->windows().change(applied.id, [&](WindowRecord& record) {
        consumed = consume(record, terms, cost);
        low = consumed && may_fetch_ahead(record, terms);
        seen = record;
    });
    return consumed;
}

}  // namespace

Recalled draw(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    const Terms terms = terms_of(applied, verdict, now);
    applied.reservation = {applied.id, verdict.rate, applied.limit->window,
                           cost,       cost,         static_cast<std::int64_t>(applied.limit->lease)};
    WindowRecord seen;
    bool low = false;
    if (consume_here(applied, terms, cost, low, seen)) {
        hold(applied, cost, seen.reset);
        verdict.window = {taken(seen) - cost, seen.reset};
        verdict.known = true;
        if (low && applied.limit->lease == lease_auto) {
            Reservation ahead = applied.reservation;
            ahead.want = 0;
            applied.shard->fetches().fetch_ahead(applied.key, ahead);
        }
        return Recalled::drawn;
    }
    return recall(applied, verdict, cost, now);
}

Admission take_tokens(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    const std::int64_t granted = applied.check.take_granted();
    const Window& found = applied.check.window();
    hold(applied, granted, found.reset);
    verdict.window = found.reset != 0 ? found : Window{0, terms_of(applied, verdict, now).proposed};
    verdict.known = true;
    return granted >= cost ? Admission::admitted : Admission::refused;
}

void give_back_tokens(AppliedLimit& applied) noexcept {
    const std::int64_t granted = applied.check.take_granted();
    if (granted != 0) {
        hold(applied, granted, applied.check.window().reset);
    }
    if (applied.held == Held::leased) {
        applied.shard->fetches().put_back(applied.key, applied.reservation, applied.reserved,
                                          applied.held_in);
        applied.held = Held::nothing;
    }
}

std::int64_t settle_tokens(AppliedLimit& applied, const Verdict& verdict, std::int64_t cost,
                           Millis now) noexcept {
    const std::int64_t spent = applied.held == Held::leased ? applied.reserved : 0;
    if (applied.held == Held::leased) {
        applied.held = Held::nothing;
    }
    if (cost <= spent) {
        if (cost < spent) {
            applied.shard->fetches().put_back(applied.key, applied.reservation, spent - cost,
                                              applied.held_in);
        }
        return 0;
    }
    WindowRecord seen;
    bool low = false;
    const Terms terms = terms_of(applied, verdict, now);
    return applied.held == Held::nothing && consume_here(applied, terms, cost - spent, low, seen)
               ? 0
               : cost - spent;
}

}  // namespace rate_limit
