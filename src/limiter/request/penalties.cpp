#include "limiter/request/penalties.h"

#include <algorithm>
#include <memory>
#include <new>

#include "limiter/kinds/window.h"
#include "limiter/modes/mode.h"
#include "limiter/store/penalty_command.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

std::int64_t need_of(const AppliedLimit& applied) noexcept {
    return applied.mode->needs_cost() ? applied.cost : 1;
}

/// A bucket has no windows that end.
std::uint32_t window_of(const AppliedLimit& applied) noexcept {
    return applied.bucket ? 0 : static_cast<std::uint32_t>(applied.verdict.window.reset);
}

void show_penalty(AppliedLimit& applied, Millis until, Millis now) noexcept {
    if (!applied.mode->kind().show_remembered(applied, now)) {
        show(applied, {0, terms_of(applied, now).proposed});
    }
    applied.verdict.window.reset = std::max(applied.verdict.window.reset, until);
    applied.penalty->until = until;
}

/// Whether the limit would let the request in if all that this machine's requests hold were given back.
bool only_pending_fills(const AppliedLimit& applied, const PenaltyRecord& record) noexcept {
    const Verdict& verdict = applied.verdict;
    const bool same = record.window == window_of(applied);
    const std::int64_t pending = same ? record.pending : 0;
    return verdict.in_flight != 0 ||
           (pending != 0 && verdict.rate.limit - (verdict.window.used - pending) >= need_of(applied));
}

void order(AppliedLimit& applied, Millis life) noexcept {
    order_penalty(applied.shard(), *applied.zone, applied.key, applied.id, applied.bucket.has_value(), life);
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
        order_penalty(of.place.store->at(of.place.route), zone, of.place.key, of.place.id,
                      of.bucket.has_value(), ends_penalty);
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
        until > now ? learn_penalty(record, until, now) : note_free(record, now);
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
        } else if (!only_pending_fills(applied, record)) {
            part.begun = begin_penalty(record, truth, now, applied.limit.penalty);
        }
        part.until = runs(record, now) ? record.until : 0;
    };
    // Without room none begins.
    applied.verdict.never_fits ? (void)applied.zone->windows().change(penalty_id_of(applied.id), change)
                               : (void)applied.zone->windows().update(penalty_id_of(applied.id), now, change);
    if (applied.store != nullptr && (part.begun || asks)) {
        order(applied, stored ? 0 : part.until - now);
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
    part.window = window_of(applied);
    const Millis reset =
        applied.bucket ? now + millis_of(applied.bucket->fill()) : applied.verdict.window.reset;
    const bool room = applied.zone->windows().update(
        penalty_id_of(applied.id), now,
        [&](PenaltyRecord& record) { hold(record, part.window, reset, holding.cost); });
    part.held = room ? holding.cost : 0;
}

void release_pending(AppliedLimit& applied) noexcept {
    PenaltyPart& part = *applied.penalty;
    if (part.held != 0) {
        applied.zone->windows().change(penalty_id_of(applied.id), [&part](PenaltyRecord& record) {
            release(record, part.window, part.held);
        });
        part.held = 0;
    }
}

}  // namespace rate_limit
