#include "limiter/modes/charge_refund.h"

#include "limiter/kinds/window.h"
#include "limiter/modes/local.h"
#include "limiter/modes/local_bucket.h"
#include "limiter/modes/redis_bucket.h"
#include "limiter/modes/redis_charge.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

const ChargeRefund charge_refund_with_redis;

/// Takes in what the script or a plain increment has said.
void learn_of(const AppliedLimit& applied, WindowRecord& record, const Terms& terms,
              const Window& answer) noexcept {
    if (answer.reset == applied.demand.open_until) {
        learn_count(record, terms, answer);
    } else {
        learn(record, terms, answer, applied.known_reset);
    }
}

void remember_answer(AppliedLimit& applied, const Terms& terms, const Window& answer,
                     bool admitted) noexcept {
    const Question question = question_of(applied);
    // Without room nothing is remembered: the store has decided.
    (void)applied.zone->windows().update(applied.id, terms.now, [&](WindowRecord& record) {
        if (applied.recalled == Recalled::to_confirm) {
            replace(record, terms, answer, question);
        } else {
            learn_of(applied, record, terms, answer);
        }
        if (!admitted) {
            heard(record, terms.now);
        }
    });
}

/// Takes over what the primary granted after the request had gone on. False if it granted nothing.
bool take_late_grant(AppliedLimit& applied, Millis now) noexcept {
    const std::int64_t granted = applied.take_granted();
    if (granted == 0) {
        return false;
    }
    const Window answer = applied.answer()->window();
    Terms terms;
    terms.rate = applied.demand.rate;
    terms.truth = Truth::redis;
    terms.now = now;
    // Without room nothing is remembered.
    (void)applied.zone->windows().update(
        applied.id, now, [&](WindowRecord& record) { learn_of(applied, record, terms, answer); });
    give_back_here(applied, applied.take_holding());  // it may have been let in by memory meanwhile
    applied.holding = {Holding::Kind::reserved, granted, 0, answer.reset};
    return true;
}

/// The cost was charged before the request; `due` is what it is charged in all.
void settle_reserved(AppliedLimit& applied, std::int64_t due, Millis now) noexcept {
    const Holding holding = applied.take_holding();
    if (due > 0 && applied.demand.open_until == 0) {  // else the record says so already
        applied.zone->windows().change(applied.id,
                                       [&](WindowRecord& record) { note_lasting(record, holding.reset); });
    }
    if (due > holding.cost) {
        charge_redis(applied, due - holding.cost, now);
    } else if (due < holding.cost) {
        applied.shard().charges().refund(applied.key, applied.demand, holding.cost - due, holding.reset);
    }
}

/// The end of the window, if this machine knows it as open with room for the request; else 0. What it knows
/// is noted as `known_reset`. A refund deletes a window in which nothing is used any more, and an increment
/// after that would make a key without an end: so there must be a charge in the window that stays.
Millis known_open_until(AppliedLimit& applied) noexcept {
    const Millis now = now_millis();
    const auto known = open_window(applied, now);
    applied.known_reset = known ? known->reset : 0;
    if (applied.cost == 0 || !known || !known->lasting || has_check_turn(*known)) {
        return 0;
    }
    const bool room =
        has_room(*known, terms_of(applied, now), applied.cost) && finds_window(applied, known->reset, now);
    return room && applied.shard().charges().outlasts_answer(known->reset, now) ? known->reset : 0;
}

}  // namespace

bool ChargeRefund::recalls_first(const AppliedLimit& applied, bool /*alone*/) const noexcept {
    return may_be_used_up(applied);
}

Recalled ChargeRefund::recall(AppliedLimit& applied, Millis now) const noexcept {
    const auto full = full_window(applied, applied.cost, now);
    return full ? confirm_or_reject(applied, *full, applied.cost, now) : Recalled::nothing;
}

void ChargeRefund::ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept {
    applied.demand = {applied.id,
                      applied.verdict.rate,
                      applied.kind(),
                      applied.cost,
                      applied.cost,
                      known_open_until(applied),
                      0};
    applied.asked.emplace<Reservation>().start(applied.shard(), applied.key, applied.demand, owner);
}

Admission ChargeRefund::admit(AppliedLimit& applied, Millis now) const noexcept {
    if (applied.answer()->failure() != nullptr) {
        return without_answer(applied, now);
    }
    const Terms terms = terms_of(applied, now);
    const Window answer = applied.answer()->window();
    const std::int64_t granted = applied.take_granted();
    const std::int64_t limit = terms.rate.limit;
    const bool admitted = applied.cost == 0 ? answer.used <= limit : granted >= applied.cost;
    remember_answer(applied, terms, answer, admitted);
    if (!admitted || answer.used >= limit) {
        note_used_up(applied, now);
    }
    applied.open = is_open(answer, terms.rate.period, now);
    // What has refused the request is shown, also where it ended while the answer was on its way.
    const bool shown = applied.open || (!admitted && answer.reset != 0);
    show(applied, shown ? Window{answer.used - granted, answer.reset} : Window{0, terms.proposed});
    if (!admitted) {
        return Admission::refused;
    }
    applied.holding = {granted != 0 ? Holding::Kind::reserved : Holding::Kind::nothing, granted, 0,
                       answer.reset};
    return Admission::admitted;
}

void ChargeRefund::settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept {
    auto* reservation = std::get_if<Reservation>(&applied.asked);
    if (take_late_grant(applied, now) || applied.holding.kind == Holding::Kind::reserved) {
        settle_reserved(applied, due, now);
    } else if (due == 0) {
        give_back_here(applied, applied.take_holding());
    } else if (reservation != nullptr && reservation->unsettled()) {
        // The primary may have charged it already: its answer will tell what is left to do.
        reservation->keep(owe(applied, due, now).owed);
    } else {
        charge_redis(applied, due, now);
    }
}

extern const NamedMode charge_refund_mode = {"charge_refund", charge_refund_with_redis,
                                             local_reserve,   &local_bucket,
                                             &redis_bucket,   "mode=lease asks less"};

}  // namespace rate_limit
