#include "ngx/modes/recollection.h"

#include "ngx/base/zone.h"
#include "ngx/conf/redis_conf.h"
#include "ngx/modes/tokens.h"

namespace rate_limit {

namespace {

bool fits(const AppliedLimit& applied, const Verdict& verdict, std::int64_t taken,
          std::int64_t cost) noexcept {
    const std::int64_t left = verdict.rate.limit - taken;
    return applied.reserves() ? left >= cost : left > 0;
}

/// What a request that was let in sees: the window without itself.
Window before_it(const WindowRecord& record, Held held, std::int64_t cost) noexcept {
    return {held == Held::reserved ? taken(record) - cost : taken(record) - 1, record.reset};
}

Recalled reject_by(Verdict& verdict, const Window& window, Recalled recalled) noexcept {
    verdict.window = window;
    verdict.known = true;
    return recalled;
}

Question question_of(const AppliedLimit& applied) noexcept {
    return applied.shard->charges().question(applied.id, applied.events);
}

}  // namespace

Terms terms_of(const AppliedLimit& applied, const Verdict& verdict, Millis now) noexcept {
    return {verdict.rate, applied.local() ? Truth::local : Truth::redis,
            propose_reset(applied.limit->window, verdict.rate.period, now), now};
}

bool looks_up_first(const AppliedLimit& applied) noexcept {
    return applied.local() || applied.leases() || applied.zone->used_up().may_contain(applied.id);
}

Recalled recall(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    WindowTable& windows = applied.zone->windows();
    applied.looked_up = true;
    const auto record = windows.find(applied.id);
    if (!record || !is_open(*record, verdict.rate.period, now) ||
        fits(applied, verdict, taken(*record), cost)) {
        return Recalled::nothing;
    }
    const Window known{record->used - at_hand(*record), record->reset};
    // Requests in flight are known here, and nobody else knows better.
    if (applied.local() || (!applied.reserves() && record->used < verdict.rate.limit)) {
        return reject_by(verdict, known, Recalled::used_up);
    }
    // What Redis has not taken yet is no reason to reject where it cannot be asked: that is for on_error.
    applied.doubtful = record->unanswered != 0;
    WindowRecord seen = *record;
    bool turn = !is_on_its_way(seen, now, applied.shard->charges().patience()) && may_ask(seen, now);
    if (turn) {
        windows.change(applied.id, [&](WindowRecord& open) {
            turn = may_ask(open, now);
            applied.events = open.events;
        });
    }
    if (turn) {
        return reject_by(verdict, known, Recalled::to_confirm);
    }
    return applied.doubtful ? Recalled::nothing : reject_by(verdict, known, Recalled::used_up);
}

Admission admit(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, const Window& answer,
                Source source, Millis now) noexcept {
    const Terms terms = terms_of(applied, verdict, now);
    const Question question = source == Source::primary ? question_of(applied) : Question{};
    bool admitted = false;
    bool used_up = false;  // by this request, or before it
    const bool room = applied.zone->windows().update(applied.id, now, [&](WindowRecord& record) {
        if (source == Source::node) {
            learn(record, terms, answer);
        } else if (source == Source::primary) {
            replace(record, terms, answer, question);
        }
        if (applied.reserves_here()) {
            admitted = charge_if_fits(record, terms, cost);
        } else {
            // Without its store, what would be reserved there is charged at the end.
            const bool open = is_open(record, verdict.rate.period, now);
            admitted = fits(applied, verdict, open ? taken(record) : 0, cost) && enter(record, terms);
        }
        if (admitted) {
            applied.held = applied.reserves_here() ? Held::reserved : Held::in_flight;
            applied.reserved = cost;
            applied.ticket = record.ticket;
            verdict.window = before_it(record, applied.held, cost);
            used_up = !fits(applied, verdict, taken(record), cost);
        } else {
            used_up = true;
            verdict.window = {record.used, record.reset};
            if (source != Source::memory) {
                heard(record, now);
            }
        }
        if (!is_open(record, verdict.rate.period, now)) {
            verdict.window = {0, terms.proposed};
        }
        verdict.known = true;
    });
    if (!room) {
        return Admission::no_room;
    }
    if (used_up && !applied.local()) {
        applied.zone->used_up().note(applied.id, now);
    }
    return admitted ? Admission::admitted : Admission::refused;
}

void take_in(AppliedLimit& applied, Verdict& verdict, const Window& answer, Millis now) noexcept {
    const Terms terms = terms_of(applied, verdict, now);
    verdict.window = is_open(answer, verdict.rate.period, now) ? answer : Window{0, terms.proposed};
    verdict.known = true;
    // Without room nothing is remembered.
    (void)applied.zone->windows().update(applied.id, now,
                                         [&](WindowRecord& record) { learn(record, terms, answer); });
}

Admission take_grant(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    const Terms terms = terms_of(applied, verdict, now);
    const Question question = question_of(applied);
    const Window answer = applied.check.window();
    const std::int64_t granted = applied.check.take_granted();
    const bool admitted = cost == 0 ? answer.used <= verdict.rate.limit : granted >= cost;
    // Without room nothing is remembered: the store has decided.
    (void)applied.zone->windows().update(applied.id, now, [&](WindowRecord& record) {
        if (applied.recalled == Recalled::to_confirm) {
            replace(record, terms, answer, question);
        } else {
            learn(record, terms, answer);
        }
        if (!admitted) {
            heard(record, now);
        }
    });
    if (!admitted || answer.used >= verdict.rate.limit) {
        applied.zone->used_up().note(applied.id, now);
    }
    const bool open = is_open(answer, verdict.rate.period, now);
    verdict.window = open ? Window{answer.used - granted, answer.reset} : Window{0, terms.proposed};
    verdict.known = true;
    if (!admitted) {
        return Admission::refused;
    }
    applied.held = granted != 0 ? Held::reserved : Held::nothing;
    applied.reserved = granted;
    applied.held_in = answer.reset;
    return Admission::admitted;
}

bool recollect(const AppliedLimit& applied, Verdict& verdict, Millis now) noexcept {
    const auto record = applied.zone->windows().find(applied.id);
    if (!record || !record->confirmed || !is_open(*record, verdict.rate.period, now)) {
        return false;
    }
    verdict.window = {taken(*record), record->reset};
    verdict.known = true;
    return true;
}

namespace {

/// What it holds in a window that this machine remembers.
void give_back_here(AppliedLimit& applied) noexcept {
    applied.zone->windows().change(applied.id, [&](WindowRecord& record) {
        if (applied.held == Held::in_flight) {
            leave(record, applied.ticket);
        } else {
            refund(record, applied.ticket, applied.reserved);
        }
    });
}

}  // namespace

bool take_late_grant(AppliedLimit& applied) noexcept {
    const std::int64_t granted = applied.check.take_granted();
    if (granted == 0) {
        return false;
    }
    const Window answer = applied.check.window();
    Terms terms;
    terms.rate = applied.reservation.rate;
    terms.truth = Truth::redis;
    terms.now = now_millis();
    // Without room nothing is remembered.
    (void)applied.zone->windows().update(applied.id, terms.now,
                                         [&](WindowRecord& record) { learn(record, terms, answer); });
    if (applied.held == Held::in_flight) {
        give_back_here(applied);  // it was let in by memory meanwhile
    }
    applied.held = Held::reserved;
    applied.reserved = granted;
    applied.held_in = answer.reset;
    return true;
}

void give_back(AppliedLimit& applied) noexcept {
    if (applied.leases()) {
        give_back_tokens(applied);
    } else {
        take_late_grant(applied);
    }
    if (applied.held == Held::reserved && applied.shard != nullptr) {
        applied.shard->charges().refund(applied.key, applied.reservation, applied.reserved, applied.held_in);
    } else if (applied.held != Held::nothing) {
        give_back_here(applied);
    }
    applied.held = Held::nothing;
}

void charge_local(AppliedLimit& applied, const Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    const std::int64_t reserved = applied.held == Held::reserved ? applied.reserved : 0;
    if (cost == reserved && applied.held == Held::reserved) {
        applied.held = Held::nothing;
    }
    if (cost == reserved || cost == 0) {
        give_back(applied);
        return;
    }
    const Terms terms = terms_of(applied, verdict, now);
    // Without room nothing is held, and there is nowhere to charge.
    (void)applied.zone->windows().update(applied.id, now, [&](WindowRecord& record) {
        const bool same = record.ticket == applied.ticket && is_open(record, verdict.rate.period, now);
        if (reserved == 0) {
            charge(record, terms, cost);
        } else if (cost < reserved) {
            refund(record, applied.ticket, reserved - cost);
        } else if (same) {
            charge(record, terms, cost - reserved);
        }
        if (applied.held == Held::in_flight) {
            leave(record, applied.ticket);
        }
    });
    applied.held = Held::nothing;
}

Sending send_charge(AppliedLimit& applied, const Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    const Terms terms = terms_of(applied, verdict, now);
    Sending sending{verdict.known ? verdict.window.reset : 0, applied.open, {}};
    // Without room the charge goes by what the check found.
    (void)applied.zone->windows().update(applied.id, now, [&](WindowRecord& record) {
        // What the check found counts: a window without a sound reset is left to the script, which opens it
        // anew.
        sending.open = applied.open && record.confirmed && is_open(record, verdict.rate.period, now);
        send(record, terms, cost);
        // Only now: a proposed window is forgotten when its last request leaves it uncharged.
        if (applied.held == Held::in_flight) {
            leave(record, applied.ticket);
        }
        sending.reset = record.reset;
        sending.receipt = {record.ticket, static_cast<std::uint32_t>(record.events)};
    });
    applied.held = Held::nothing;
    return sending;
}

}  // namespace rate_limit
