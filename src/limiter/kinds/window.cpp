#include "limiter/kinds/window.h"

#include <algorithm>

#include "limiter/zone.h"

namespace rate_limit {

namespace {

void take_word(WindowRecord& record, const Terms& terms, const Word& word,
               const Question& question) noexcept {
    if (word.source == Source::node) {
        learn(record, terms, word.window, word.known);
    } else if (word.source == Source::primary) {
        replace(record, terms, word.window, question);
    }
}

bool let_in(AppliedLimit& applied, WindowRecord& record, const Terms& terms, const Entry& entry) noexcept {
    if (entry.kind == Holding::Kind::reserved) {
        return charge_if_fits(record, terms, applied.cost);
    }
    const bool open = is_open(record, terms.rate.period, terms.now);
    return leaves(applied, open ? taken(record) : 0, entry.need) && enter(record, terms);
}

/// A request has entered the window of this record: it holds that, and the verdict gets it. True: the window
/// leaves less than `need` from now on.
bool hold_cost(AppliedLimit& applied, const WindowRecord& record, const Entry& entry) noexcept {
    const bool reserves = entry.kind == Holding::Kind::reserved;
    applied.holding = {entry.kind, applied.cost, record.ticket, 0};
    show(applied, {taken(record) - (reserves ? applied.cost : 1), record.reset});
    return !leaves(applied, taken(record), entry.need);
}

}  // namespace

constexpr NamedKind first_windows{"first", WindowKind::first, windows_kind};
constexpr NamedKind clock_windows{"clock", WindowKind::clock, windows_kind, ", by the clock",
                                  "open, by the clock"};
constexpr NamedKind local_windows{"local", WindowKind::local_day, windows_kind, ", by the local time",
                                  "open, by the local time"};
const NamedKind* const named_windows[] = {&first_windows, &clock_windows, &local_windows, nullptr};

Terms terms_of(const AppliedLimit& applied, Millis now) noexcept {
    Rate rate = applied.verdict.rate;
    const std::int64_t elsewhere = applied.used_elsewhere();
    rate.limit -= elsewhere;
    return {rate, applied.store == nullptr ? Truth::local : Truth::redis,
            propose_reset(applied.kind(), rate.period, now), now, elsewhere};
}

bool leaves(const AppliedLimit& applied, std::int64_t taken, std::int64_t need) noexcept {
    return applied.verdict.rate.limit - applied.used_elsewhere() - taken >= need;
}

std::optional<WindowRecord> open_window(AppliedLimit& applied, Millis now) noexcept {
    auto record = applied.zone->windows().find<WindowRecord>(applied.id);
    if (record && !is_open(*record, applied.verdict.rate.period, now)) {
        record.reset();
    }
    return record;
}

bool is_full(const AppliedLimit& applied, const WindowRecord& record, std::int64_t need) noexcept {
    return !leaves(applied, taken(record), need);
}

std::optional<WindowRecord> full_window(AppliedLimit& applied, std::int64_t need, Millis now) noexcept {
    auto record = open_window(applied, now);
    if (record && !is_full(applied, *record, need)) {
        record.reset();
    }
    return record;
}

Recalled reject_by(AppliedLimit& applied, const WindowRecord& record, std::int64_t need) noexcept {
    const std::int64_t used = record.used - at_hand(record);
    show(applied, {used, record.reset});
    applied.verdict.in_flight = leaves(applied, used, need) ? record.in_flight : 0;
    return Recalled::used_up;
}

Recalled confirm_or_reject(AppliedLimit& applied, const WindowRecord& record, std::int64_t need,
                           Millis now) noexcept {
    // Charges that Redis has not taken are no reason to reject when it cannot be asked: on_error decides.
    applied.doubtful = record.unanswered != 0;
    const Millis patience = applied.shard().charges().patience();
    bool turn = false;
    const auto take_turn = [&](WindowRecord& of) {
        turn = !is_on_its_way(of, now, patience) && may_ask(of, now);
    };
    WindowRecord seen = record;
    take_turn(seen);
    if (seen != record) {
        applied.zone->windows().change(applied.id, [&](WindowRecord& open) {
            take_turn(open);
            applied.events = open.events;
            applied.known_reset = open.reset;
        });
    }
    if (turn) {
        reject_by(applied, record, need);
        return Recalled::to_confirm;
    }
    return applied.doubtful ? Recalled::nothing : reject_by(applied, record, need);
}

Entered enter_fresh(AppliedLimit& applied, const Entry& entry, Millis freshness, Millis now) noexcept {
    const Terms terms = terms_of(applied, now);
    Entered entered;
    bool full = false;
    applied.zone->windows().change(applied.id, [&](WindowRecord& record) {
        if (!is_open(record, terms.rate.period, now)) {
            return;
        }
        applied.known_reset = record.reset;
        if (freshness == 0 || !may_stand_for_check(record, terms, freshness) ||
            !let_in(applied, record, terms, entry)) {
            entered.known = record;
            return;
        }
        entered.admitted = true;
        full = hold_cost(applied, record, entry);
    });
    if (full) {
        note_used_up(applied, now);
    }
    return entered;
}

Admission enter_window(AppliedLimit& applied, const Entry& entry, const Word& word, Millis now) noexcept {
    const Terms terms = terms_of(applied, now);
    const Question question = word.source == Source::primary ? question_of(applied) : Question{};
    bool admitted = false;
    bool full = false;  // by this request, or before it
    const bool room = applied.zone->windows().update(applied.id, now, [&](WindowRecord& record) {
        take_word(record, terms, word, question);
        admitted = let_in(applied, record, terms, entry);
        full = !admitted || hold_cost(applied, record, entry);
        if (!admitted) {
            reject_by(applied, record, entry.need);
            if (word.source != Source::memory) {
                heard(record, now);
            }
        }
        if (!is_open(record, terms.rate.period, now)) {
            applied.verdict.window = {applied.used_elsewhere(), terms.proposed};
        }
    });
    if (!room) {
        return Admission::unchecked;
    }
    if (full && applied.store != nullptr) {
        note_used_up(applied, now);
    }
    return admitted ? Admission::admitted : Admission::refused;
}

Admission WindowsKind::enter_unasked(AppliedLimit& applied, std::int64_t need, Millis now) const noexcept {
    return enter_window(applied, {need, Holding::Kind::in_flight}, {}, now);
}

/// Without room nothing is remembered.
void WindowsKind::take_in(AppliedLimit& applied, const Window& answer, Millis now) const noexcept {
    const Terms terms = terms_of(applied, now);
    show(applied, is_open(answer, terms.rate.period, now) ? answer : Window{0, terms.proposed});
    (void)applied.zone->windows().update(applied.id, now,
                                         [&](WindowRecord& record) { learn(record, terms, answer); });
}

bool WindowsKind::show_remembered(AppliedLimit& applied, Millis now) const noexcept {
    const auto record = open_window(applied, now);
    if (!record || !record->confirmed) {
        return false;
    }
    show(applied, {taken(*record), record->reset});
    return true;
}

bool WindowsKind::is_known(AppliedLimit& applied, Millis now) const noexcept {
    const auto record = open_window(applied, now);
    return applied.store == nullptr ||
           (record && was_told(*record, now) && (applied.elsewhere == nullptr || applied.elsewhere->known));
}

void WindowsKind::show_unchanged(AppliedLimit& applied, const Window* answer, Millis now) const noexcept {
    const Terms terms = terms_of(applied, now);
    WindowRecord seen = applied.zone->windows().find<WindowRecord>(applied.id).value_or(WindowRecord{});
    if (answer != nullptr) {
        learn(seen, terms, *answer);
    }
    const bool open = is_open(seen, terms.rate.period, now);
    show(applied, open ? Window{taken(seen), seen.reset} : Window{0, terms.proposed});
}

Question question_of(const AppliedLimit& applied) noexcept {
    return applied.shard().charges().question(applied.id, applied.events, applied.known_reset);
}

void give_back_here(AppliedLimit& applied, const Holding& holding) noexcept {
    if (holding.kind == Holding::Kind::nothing) {
        return;
    }
    applied.zone->windows().change(applied.id, [&](WindowRecord& record) {
        if (holding.kind == Holding::Kind::in_flight) {
            leave(record, holding.ticket);
        } else {
            refund(record, holding.ticket, holding.cost);
        }
    });
}

Remembered WindowsKind::remembered(const KeyWindow& of, const Record& record, Millis now) const noexcept {
    const auto known = record.as<WindowRecord>();
    const bool open = is_open(known, of.rate.period, now);
    return {{known.used, known.reset}, open ? known.in_flight : 0, open ? at_hand(known) : 0};
}

Window WindowsKind::shown(const KeyWindow& /*of*/, const Window& answer, Millis /*now*/) const noexcept {
    return answer;
}

void WindowsKind::give_back(const KeyWindow& of, WindowTable& table, std::int64_t cost, Window& before,
                            Window& after) const noexcept {
    table.change(of.place.id, [&](WindowRecord& record) {
        const Millis now = now_millis();
        before = remembered(of, record, now).window;
        give_back_local(record, cost);
        after = remembered(of, record, now).window;
    });
}

}  // namespace rate_limit
