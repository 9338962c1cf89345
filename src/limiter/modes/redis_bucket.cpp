#include "limiter/modes/redis_bucket.h"

#include <algorithm>

#include "core/bucket/bucket_account.h"
#include "limiter/kinds/bucket.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// The instant that the primary named is reckoned from when its answer came, on a clock of milliseconds: it
/// may be off by so much.
constexpr Millis uncertain = 2;

/// The stored bucket as known here, if a plain command may take the cost: then the record counts it as under
/// way. Else nothing.
StoredBucket begin_plain(AppliedLimit& applied, Millis now) noexcept {
    StoredBucket stored;
    applied.zone->windows().change(applied.id, [&](BucketRecord& record) {
        stored = known_stored(record, *applied.bucket, now, ticks_now(), applied.cost);
        if (stored.life != 0) {
            send_plain(record, applied.cost);
        }
    });
    return stored;
}

/// The record learns what the primary has said.
void remember(AppliedLimit& applied, Nanos full_at, bool granted, Millis now) noexcept {
    const auto* asked = std::get_if<Reservation>(&applied.asked);
    // Without room nothing is remembered: the store has decided.
    (void)applied.zone->windows().update(applied.id, now, [&](BucketRecord& record) {
        learn_bucket(record, applied.bucket->fill(), now, full_at);
        record.same_answers = granted ? 0 : record.same_answers;
        if (asked != nullptr && asked->stored()) {
            const auto [until, returned] = *asked->stored();
            until ? note_stored(record, *until, returned) : note_returned(record, returned);
        }
    });
}

BucketReceipt receipt_of_granted(const AppliedLimit& applied) noexcept {
    const auto* asked = std::get_if<Reservation>(&applied.asked);
    return asked != nullptr ? asked->receipt() : BucketReceipt{};
}

/// The debt of the request, which the record counts from now on.
Debt owe_bucket(AppliedLimit& applied, const Demand& demand, std::int64_t cost, Millis now) noexcept {
    (void)applied.zone->windows().update(applied.id, now, [&](BucketRecord& record) {
        record.truth = Truth::redis;
        charge(record, *applied.bucket, now, cost);
    });
    const Millis full = now + std::max<Millis>(1000, millis_of(demand.fill));  // a second: batches take time
    return debt_of(demand, DebtKind::charges, demand.owed_for(cost), full);
}

void charge_primary(AppliedLimit& applied, const Debt& owed) noexcept {
    Charge charge;
    charge.key = applied.key;
    charge.owed = owed;
    applied.shard().charges().charge(charge);
}

/// Nothing goes back if the bucket may have been full since: its tokens are there, or others took them. Where
/// the primary alone can say whether it does, memory learns that by its answer.
void refund_primary(AppliedLimit& applied, const Demand& demand, const Holding& holding, std::int64_t cost,
                    Millis now) noexcept {
    if (holding.reset <= now) {
        return;
    }
    if (!holding.receipt.only_last) {
        applied.zone->windows().change(
            applied.id, [&](BucketRecord& record) { give_back(record, *applied.bucket, now, cost); });
    }
    applied.shard().charges().refund_uncounted(applied.key, demand, demand.owed_for(cost), holding.reset,
                                               holding.receipt);
}

/// The primary has taken the cost of the request; `due` is what it is charged in all.
void settle_reserved_tokens(AppliedLimit& applied, const Demand& demand, const Holding& holding,
                            std::int64_t due, Millis now) noexcept {
    if (due > holding.cost) {
        charge_primary(applied, owe_bucket(applied, demand, due - holding.cost, now));
    } else if (due < holding.cost) {
        refund_primary(applied, demand, holding, holding.cost - due, now);
    }
}

/// The primary has not been asked for some time, and other machines may have given tokens back: one request
/// asks again. True for that one.
bool takes_turn(AppliedLimit& applied, Millis now) noexcept {
    bool turn = false;
    applied.zone->windows().change(applied.id, [&](BucketRecord& record) { turn = ask_about(record, now); });
    return turn;
}

}  // namespace

Demand RedisBucket::demand_of(const AppliedLimit& applied) noexcept {
    Demand demand;
    demand.id = applied.id;
    demand.rate = applied.verdict.rate;
    demand.window_kind = WindowKind::bucket;
    demand.want = applied.cost;
    demand.least = applied.cost;
    demand.token = applied.bucket->token();
    demand.fill = applied.bucket->fill();
    demand.queues = applied.limit.delay != 0;
    return demand;
}

void RedisBucket::leave_memory(AppliedLimit& applied, const Holding& holding, Millis now) noexcept {
    if (holding.kind == Holding::Kind::in_flight && holding.cost != 0 && holding.reset > now) {
        applied.zone->windows().change(
            applied.id, [&](BucketRecord& record) { give_back(record, *applied.bucket, now, holding.cost); });
    }
}

void RedisBucket::charge_late(AppliedLimit& applied, std::int64_t cost, Millis now) noexcept {
    charge_primary(applied, owe_bucket(applied, demand_of(applied), cost, now));
}

bool RedisBucket::recalls_first(const AppliedLimit& applied, bool /*alone*/) const noexcept {
    return may_be_used_up(applied);
}

Recalled RedisBucket::recall(AppliedLimit& applied, Millis now) const noexcept {
    return recall_for(applied, applied.cost, now);
}

Recalled RedisBucket::recall_for(AppliedLimit& applied, std::int64_t need, Millis now) noexcept {
    const auto record = applied.zone->windows().find<BucketRecord>(applied.id);
    if (!record || is_beyond(*record, *applied.bucket, now)) {
        return Recalled::nothing;
    }
    const Window refusal = refusal_of(*record, *applied.bucket, now, need);
    const bool ready = applied.bucket->burst() - refusal.used >= need;
    if (ready || refusal.reset - now <= uncertain) {
        return Recalled::nothing;
    }
    const bool asked = !std::holds_alternative<std::monostate>(applied.asked);
    if (!asked && is_to_be_asked(*record, now) && takes_turn(applied, now)) {
        return Recalled::nothing;
    }
    show(applied, refusal);
    return Recalled::used_up;
}

void RedisBucket::ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept {
    applied.demand = demand_of(applied);
    const Millis now = now_millis();
    const StoredBucket stored = begin_plain(applied, now);
    applied.demand.open_until = stored.life != 0 ? now + stored.life : 0;
    applied.demand.returned = stored.returned;
    applied.demand.filling = stored.filling;
    applied.asked.emplace<Reservation>().start(applied.shard(), applied.key, applied.demand, owner);
}

Admission RedisBucket::admit(AppliedLimit& applied, Millis now) const noexcept {
    if (applied.answer()->failure() != nullptr) {
        return without_answer(applied, now);
    }
    const Bucket& bucket = *applied.bucket;
    const Nanos full_at = applied.answer()->window().used;
    const std::int64_t granted = applied.take_granted();
    const bool admitted = granted >= applied.cost;
    remember(applied, full_at, admitted, now);
    BucketRecord told;
    learn_bucket(told, bucket.fill(), now, full_at);
    const Window after = shown_of(told, bucket, now);
    if (!admitted || after.used >= bucket.burst()) {
        note_used_up(applied, now);
    }
    if (!admitted) {
        show(applied, refusal_of(told, bucket, now, applied.cost));
        return Admission::refused;
    }
    show(applied, {std::max<std::int64_t>(0, after.used - granted), after.reset});  // it has refilled since
    applied.holding = {granted != 0 ? Holding::Kind::reserved : Holding::Kind::nothing, granted, 0,
                       applied.answer()->window().reset, receipt_of_granted(applied)};
    note_delay(applied, full_at, now);
    return Admission::admitted;
}

void RedisBucket::settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept {
    auto* reservation = std::get_if<Reservation>(&applied.asked);
    Holding holding = applied.take_holding();
    if (holding.kind != Holding::Kind::reserved) {
        leave_memory(applied, holding, now);
        const std::int64_t late = applied.take_granted();  // after the request had gone on
        holding = late == 0 ? Holding{}
                            : Holding{Holding::Kind::reserved, late, 0, applied.answer()->window().reset,
                                      receipt_of_granted(applied)};
    }
    if (holding.kind == Holding::Kind::reserved) {
        settle_reserved_tokens(applied, demand_of(applied), holding, due, now);
    } else if (due != 0) {
        const Debt owed = owe_bucket(applied, demand_of(applied), due, now);
        if (reservation != nullptr && reservation->unsettled()) {
            // The primary may have taken it already: its answer will tell what is left to do.
            reservation->keep(owed);
        } else if (!applied.in_doubt()) {
            charge_primary(applied, owed);
        }
    }
}

std::int64_t RedisBucket::leave_queue(AppliedLimit& applied, Millis now) const noexcept {
    BucketReceipt& receipt = applied.holding.receipt;
    receipt.only_last = applied.limit.delay != 0;
    const bool has_taken = applied.holding.kind == Holding::Kind::reserved;
    return receipt.only_last && has_taken && receipt.mark == 0 ? applied.take_holding().cost
                                                               : Mode::leave_queue(applied, now);
}

const RedisBucket redis_bucket;

}  // namespace rate_limit
