#include "core/machine/windows/tokens.h"

#include <algorithm>

#include "limiter/kinds/window.h"
#include "limiter/modes/charge_refund.h"
#include "limiter/modes/lease_bucket.h"
#include "limiter/modes/local.h"
#include "limiter/modes/local_bucket.h"
#include "limiter/modes/redis_charge.h"
#include "limiter/modes/spent_tokens.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

void hold_tokens(AppliedLimit& applied, std::int64_t tokens, Millis reset) noexcept {
    applied.holding = {tokens != 0 ? Holding::Kind::tokens : Holding::Kind::nothing, tokens, 0, reset};
}

/// The result of spending tokens that are at hand.
struct Spending {
    bool consumed = false;
    bool low = false;  ///< more should be fetched before they run out
    WindowRecord seen;
};

Spending consume_here(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept {
    const Terms terms = terms_of(applied, now);
    const Millis answer = applied.shard().fetches().answer_time();
    Spending spending;
    applied.zone->windows().change(applied.id, [&](WindowRecord& record) {
        spending.consumed = consume(record, terms, cost);
        spending.low = spending.consumed && may_fetch_ahead(record, terms, answer);
        spending.seen = record;
    });
    return spending;
}

void give_back(AppliedLimit& applied, std::int64_t tokens, Millis reset) noexcept {
    applied.shard().hoard().give_back(applied.key, applied.demand, tokens, reset);
}

void give_back_all(AppliedLimit& applied) noexcept {
    const std::int64_t granted = applied.take_granted();
    if (granted != 0) {
        hold_tokens(applied, granted, applied.answer()->window().reset);
    }
    const Holding holding = applied.take_holding();
    if (holding.kind == Holding::Kind::tokens) {
        give_back(applied, holding.cost, holding.reset);
    } else {
        give_back_here(applied, holding);
    }
}

/// The key is not asked for often enough for a batch: the request asks as in charge_refund.
bool asks_alone(AppliedLimit& applied, Millis now) noexcept {
    if (applied.cost == 0) {
        return true;
    }
    if (applied.demand.fixed() || applied.recalled == Recalled::to_confirm ||
        applied.shard().fetches().is_asking(applied.id)) {
        return false;
    }
    const Terms terms = terms_of(applied, now);
    bool alone = false;
    applied.zone->windows().change(
        applied.id, [&](WindowRecord& record) { alone = reserve_alone(record, terms, applied.cost); });
    return alone;
}

/// Spends tokens that this machine fetched from the primary in advance, a batch at a time. A request that
/// costs nothing has none to spend: it only asks whether the limit is passed, as in charge_refund. So does
/// one of a key that is seldom asked for, for what it costs.
class Lease final : public ChargeRefund {
public:
    bool recalls_first(const AppliedLimit& /*applied*/, bool /*alone*/) const noexcept override {
        return true;
    }
    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override;
    void ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept override;
    Admission admit(AppliedLimit& applied, Millis now) const noexcept override;
    void settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept override;
};

Recalled Lease::recall(AppliedLimit& applied, Millis now) const noexcept {
    if (std::holds_alternative<std::monostate>(applied.asked)) {
        applied.demand = {applied.id,
                          applied.verdict.rate,
                          applied.kind(),
                          applied.cost,
                          applied.cost,
                          0,
                          static_cast<std::int64_t>(applied.limit.lease)};
    }
    const Spending spending = consume_here(applied, applied.cost, now);
    if (!spending.consumed) {
        return ChargeRefund::recall(applied, now);
    }
    applied.by_tokens = true;
    hold_tokens(applied, applied.cost, spending.seen.reset);
    show(applied, {taken(spending.seen) - applied.cost, spending.seen.reset});
    if (spending.low) {
        applied.shard().fetches().fetch_ahead(applied.key, applied.demand);
    }
    return Recalled::admitted;
}

void Lease::ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept {
    if (asks_alone(applied, now_millis())) {
        ChargeRefund::ask(applied, owner);
    } else {
        applied.shard().fetches().fetch(applied.asked.emplace<Seat>(), applied.key, applied.demand, owner);
    }
}

Admission Lease::admit(AppliedLimit& applied, Millis now) const noexcept {
    if (std::holds_alternative<Reservation>(applied.asked)) {
        return ChargeRefund::admit(applied, now);
    }
    if (applied.answer()->failure() != nullptr) {
        return without_answer(applied, now);
    }
    const std::int64_t granted = applied.take_granted();
    const Window& found = applied.answer()->window();
    applied.open = is_open(found, applied.verdict.rate.period, now);
    hold_tokens(applied, granted, found.reset);
    show(applied, found.reset != 0 ? found : Window{0, terms_of(applied, now).proposed});
    return granted >= applied.cost ? Admission::admitted : Admission::refused;
}

/// Charges what the tokens do not cover: from other tokens at hand, or at the primary.
void Lease::settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept {
    // The part it asked for counts, not the cost that has turned out.
    if (applied.demand.want != 0 && applied.holding.kind != Holding::Kind::tokens &&
        std::holds_alternative<Reservation>(applied.asked)) {
        ChargeRefund::settle(applied, due, now);
        return;
    }
    if (due == 0) {
        give_back_all(applied);
        return;
    }
    std::int64_t rest = due;
    if (applied.holding.kind == Holding::Kind::tokens) {
        const Holding holding = applied.take_holding();
        if (due < holding.cost) {
            give_back(applied, holding.cost - due, holding.reset);
        }
        if (std::holds_alternative<Seat>(applied.asked)) {
            applied.zone->windows().change(
                applied.id, [&](WindowRecord& record) { note_lasting(record, holding.reset); });
        }
        count_spent(applied, std::min(due, holding.cost));
        rest = due > holding.cost ? due - holding.cost : 0;
    }
    const bool may_consume = rest != 0 && applied.holding.kind == Holding::Kind::nothing;
    const bool consumed = may_consume && consume_here(applied, rest, now).consumed;
    count_spent(applied, consumed ? rest : 0);
    if (rest == 0 || consumed) {
        give_back_all(applied);  // tokens that came late
    } else {
        charge_redis(applied, rest, now);
    }
}

const Lease lease_with_redis;

}  // namespace

extern const NamedMode lease_mode = {"lease",
                                     lease_with_redis,
                                     local_reserve,
                                     &local_bucket,
                                     &lease_bucket,
                                     "it has mode=lease: a greater limit, or a key that tells clients apart, "
                                     "asks less"};

}  // namespace rate_limit
