#include "limiter/request/penalties.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "limiter/kinds/window.h"
#include "limiter/modes/mode.h"
#include "limiter/store/penalty_command.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

void show_penalty(AppliedLimit& applied, Millis until, Millis now) noexcept {
    if (!applied.mode->kind().show_refusal(applied, now)) {
        show(applied, {0, terms_of(applied, now).proposed});
    }
    applied.verdict.window.reset = std::max(applied.verdict.window.reset, until);
    applied.penalty->until = until;
}

/// Whether nothing is used but what requests of this machine hold, or have just given back. Those that wait
/// for their turn fill a queue, which is what it is for.
bool only_pending_fills(const AppliedLimit& applied, const PenaltyRecord& record, Millis now) noexcept {
    const double free = may_be_free(record, span_of(applied, now).mark, now);
    return applied.verdict.in_flight != 0 ||
           (applied.limit.delay == 0 && free > 0 && free >= static_cast<double>(applied.verdict.window.used));
}

/// Whether the store's end is that of the penalty which has ended here: the clock of its server may be a
/// little behind, and clients come back when they were told to. No penalty lasts less than a second.
bool is_of_the_last(const PenaltyRecord& record, Millis until, Millis now) noexcept {
    constexpr Millis apart = 900;
    return record.until != 0 && !runs(record, now) && until < record.until + apart;
}

void order(AppliedLimit& applied, Millis until) noexcept {
    order_penalty(applied.shard(), *applied.zone, applied.key, applied.id, applied.kind(), until);
}

}  // namespace

bool prepare_penalty(RequestMemory& memory, AppliedLimit& applied) noexcept {
    if (applied.limit.penalty == 0) {
        return true;
    }
    std::size_t room = sizeof(PenaltyPart) + alignof(PenaltyPart);
    void* at = allocate(memory, room);
    if (at == nullptr) {
        return false;
    }
    at = std::align(alignof(PenaltyPart), sizeof(PenaltyPart), at, room);  // texts may lie anywhere
    applied.penalty = new (at) PenaltyPart;
    return true;
}

void end_penalty(const KeyWindow& of, Zone& zone) noexcept {
    const Millis now = now_millis();
    zone.windows().change(penalty_id_of(of.place.id),
                          [now](PenaltyRecord& record) { end_penalty(record, now); });
    if (of.place.store != nullptr) {
        order_penalty(of.place.store->at(of.place.route), zone, of.place.key, of.place.id, of.kind,
                      ends_penalty);
    }
}

bool recall_penalty(AppliedLimit& applied, Millis now) noexcept {
    const auto record = applied.zone->windows().find<PenaltyRecord>(penalty_id_of(applied.id));
    if (!record || !runs(*record, now)) {
        const bool local = applied.store == nullptr;
        const Millis freshness = local ? 0 : applied.shard().freshness(applied.verdict.rate.period);
        applied.penalty->must_ask = !local && !(record && is_known_free(*record, now, freshness));
        return false;
    }
    show_penalty(applied, record->until, now);
    return true;
}

void ask_penalty(AppliedLimit& applied, Answer::Owner& owner) noexcept {
    applied.penalty->asked = true;
    applied.penalty->read.start(applied.shard(), applied.key, Read::From::any_node, owner,
                                {applied.kind(), 0, true});
}

bool take_penalty(AppliedLimit& applied, Millis now) noexcept {
    const PenaltyPart& part = *applied.penalty;
    if (!part.asked || part.read.failure() != nullptr) {
        return false;
    }
    Millis until = part.read.window().reset;
    // Without room nothing is remembered.
    (void)applied.zone->windows().update(penalty_id_of(applied.id), now, [&](PenaltyRecord& record) {
        until > now && !is_of_the_last(record, until, now) ? learn_penalty(record, until, now)
                                                           : note_free(record, now);
        until = record.until;
    });
    if (until <= now) {
        return false;
    }
    show_penalty(applied, until, now);
    return true;
}

bool penalize(AppliedLimit& applied, Millis now) noexcept {
    PenaltyPart& part = *applied.penalty;
    const Truth truth = applied.store == nullptr ? Truth::local : Truth::redis;
    bool asks = false;
    bool stored = false;
    const auto change = [&](PenaltyRecord& record) {
        if (runs(record, now)) {
            asks = takes_turn(record, now);
            stored = record.stored;
        } else if (!applied.verdict.never_fits && !only_pending_fills(applied, record, now)) {
            part.begun = begin_penalty(record, truth, now, applied.limit.penalty);
        }
        part.until = runs(record, now) ? record.until : 0;
    };
    // Without room none begins.
    (void)applied.zone->windows().update(penalty_id_of(applied.id), now, change);
    if (applied.store != nullptr && (part.begun || asks)) {
        order(applied, stored ? 0 : part.until);
    }
    if (part.begun) {
        applied.verdict.window.reset = std::max(applied.verdict.window.reset, part.until);
    }
    return part.begun;
}

void hold_pending(AppliedLimit& applied, Millis now) noexcept {
    const Holding& holding = applied.holding;
    const bool charged = holding.kind == Holding::Kind::reserved || holding.kind == Holding::Kind::tokens;
    if (!charged || holding.cost == 0) {
        return;
    }
    PenaltyPart& part = *applied.penalty;
    const PendingSpan span = span_of(applied, now);
    part.span = span.mark;
    const bool room = applied.zone->windows().update(
        penalty_id_of(applied.id), now,
        [&](PenaltyRecord& record) { hold(record, span.mark, span.end, holding.cost); });
    part.held = room ? holding.cost : 0;
}

void release_pending(AppliedLimit& applied, std::int64_t charged, Millis now) noexcept {
    const PenaltyPart& part = *applied.penalty;
    if (const std::int64_t held = std::exchange(applied.penalty->held, 0); held != 0) {
        applied.zone->windows().change(penalty_id_of(applied.id), [&](PenaltyRecord& record) {
            release(record, part.span, held, applied.store != nullptr ? held - charged : 0, now);
        });
    }
}

}  // namespace rate_limit
