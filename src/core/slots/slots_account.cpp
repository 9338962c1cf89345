#include "core/slots/slots_account.h"

#include <algorithm>

#include "core/limit/clocks.h"

namespace rate_limit {

namespace {

/// Numbers of lua/hold.lua have 15 digits at most.
constexpr std::int64_t greatest_number = 900'000'000'000'000;

std::uint32_t low_half(Millis time) noexcept {
    return static_cast<std::uint32_t>(time);
}

Millis lapse_of(const SlotsRecord& record) noexcept {
    return record.reset & (pinned - 1);
}

void set_lapse(SlotsRecord& record, Millis time) noexcept {
    record.reset = time + (record.running != 0 ? pinned : 0);
}

std::int64_t others_of(const SlotsRecord& record) noexcept {
    return static_cast<std::int64_t>(record.others);
}

std::int64_t waiting_in(const SlotsRecord& record) noexcept {
    return static_cast<std::int64_t>(record.waiting);
}

std::int64_t bounded(std::int64_t slots) noexcept {
    return std::clamp<std::int64_t>(slots, 0, max_leased);
}

/// Without slots the record is kept as long as a call may be late, where one is; else for a moment, so that
/// the limit is still known to be reached, and as the next request finds its record cheaper than it makes
/// one.
void set_held(SlotsRecord& record, const SlotsTerms& terms, std::int64_t slots, Millis lapse) noexcept {
    record.slots = static_cast<std::uint64_t>(bounded(slots));
    if (record.slots == 0) {
        const bool may_be_late = record.in_doubt || record.unanswered;
        lapse = terms.now + (may_be_late ? terms.ttl : idle_time);
    }
    set_lapse(record, lapse);
}

void drop_lapsed(SlotsRecord& record, const SlotsTerms& terms) noexcept {
    if (record.slots != 0 && held(record, terms) == 0) {
        set_held(record, terms, 0, 0);
    }
}

/// Slots beyond those in use that so many running requests may count on: none of a small limit, nor of one
/// that is nearly reached.
std::int64_t spare(const SlotsRecord& record, std::int64_t limit, std::int64_t runs) noexcept {
    const std::int64_t left = std::max<std::int64_t>(0, limit - others_of(record) - runs);
    return std::min(runs / 8, left / 4);
}

/// Slots that are in use, or to be expected to be.
std::int64_t needed(const SlotsRecord& record, std::int64_t limit) noexcept {
    return running(record) + spare(record, limit, running(record));
}

bool is_below(const SlotsRecord& record, std::int64_t limit) noexcept {
    return others_of(record) + running(record) < limit;
}

bool is_scarce(const SlotsRecord& record, std::int64_t limit) noexcept {
    return (others_of(record) + slots_of(record)) * 4 >= limit * 3;
}

bool is_under_way(const SlotsRecord& record, const SlotsTerms& terms) noexcept {
    return record.calling && since(record.asked, terms.now) < terms.patience;
}

bool has_idle(const SlotsRecord& record, const SlotsTerms& terms) noexcept {
    return slots_of(record) > needed(record, terms.limit);
}

void note_need(SlotsRecord& record, const SlotsTerms& terms) noexcept {
    if (!has_idle(record, terms)) {
        record.needed = low_half(terms.now);
    }
}

/// When idle slots go back.
Millis idle_left(const SlotsRecord& record, const SlotsTerms& terms) noexcept {
    const Millis left = idle_time - since(record.needed, terms.now);
    return is_scarce(record, terms.limit) ? std::min(left, slots_pause - since(record.asked, terms.now))
                                          : left;
}

void start(SlotsRecord& record, const SlotsTerms& terms) noexcept {
    const Millis lapse = lapse_of(record);
    ++record.running;
    ++record.changes;
    set_lapse(record, lapse);
    note_need(record, terms);
}

/// The caller wants so many slots in all. Fewer than it holds are first fewer here.
SlotsCall begin(SlotsRecord& record, const SlotsTerms& terms, std::int64_t want) noexcept {
    record.unanswered = record.unanswered || record.in_doubt;
    record.number = std::max(record.number + 1, terms.now);
    record.asked = low_half(terms.now);
    record.calling = true;
    record.in_doubt = true;
    set_held(record, terms, std::min(slots_of(record), want), lapse_of(record));
    // Without a slot in use the answer may be none at all: then the number has to stay (lua/hold.lua), so
    // that an earlier call does not take slots for nobody.
    const bool leaves_number = running(record) == 0 && record.unanswered;
    const std::int64_t least = leaves_number ? 0 : running(record) + 1;
    return {record.number, terms.limit, want, least, terms.ttl, terms.now};
}

/// A call for the request that asks, and for all that have come to wait since the last one.
SlotsCall ask_for_more(SlotsRecord& record, const SlotsTerms& terms) noexcept {
    const std::int64_t waiting = std::max<std::int64_t>(1, waiting_in(record));
    const std::int64_t runs = running(record) + waiting;
    const std::int64_t want = std::min(runs + spare(record, terms.limit, runs), terms.limit);
    record.waiting = 1;
    return begin(record, terms, std::max({want, running(record), slots_of(record)}));
}

}  // namespace

std::int64_t held(const SlotsRecord& record, const SlotsTerms& terms) noexcept {
    // A clock that was set back would make the slots last for longer than Redis knows of.
    const Millis lapse = lapse_of(record);
    return lapse > terms.now && !is_set_back(lapse - terms.ttl, terms.now) ? slots_of(record) : 0;
}

SlotsEntry enter(SlotsRecord& record, const SlotsTerms& terms, Asking asking) noexcept {
    drop_lapsed(record, terms);
    const std::int64_t used = rate_limit::used(record, terms);
    const bool below =
        terms.truth == Truth::local ? running(record) < terms.limit : is_below(record, terms.limit);
    const bool counts = record.running < max_running;
    if (terms.limit <= 0 || !counts || (!below && terms.truth == Truth::local)) {
        return {SlotsOutcome::rejected, used, {}};
    }
    if (below && (terms.truth == Truth::local || running(record) < slots_of(record))) {
        start(record, terms);
        return {SlotsOutcome::admitted, used, {}};
    }
    // A failed call says nothing of the limit: then what was known before is no reason to reject.
    const bool failed = record.in_doubt && !record.calling;
    if (!below && !failed && since(record.asked, terms.now) < slots_pause) {
        return {SlotsOutcome::rejected, used, {}};
    }
    if (is_under_way(record, terms)) {
        if (asking == Asking::at_once && record.waiting < SlotsRecord::max_waiting) {
            ++record.waiting;
        }
        return {SlotsOutcome::wait, used, {}};
    }
    return {SlotsOutcome::ask, used, asking == Asking::at_once ? ask_for_more(record, terms) : SlotsCall{}};
}

bool enter_anyway(SlotsRecord& record, const SlotsTerms& terms) noexcept {
    if (record.running == max_running) {
        return false;
    }
    start(record, terms);
    return true;
}

void leave(SlotsRecord& record, const SlotsTerms& terms) noexcept {
    if (record.running == 0) {
        return;
    }
    note_need(record, terms);
    const Millis lapse = lapse_of(record);
    --record.running;
    ++record.changes;
    set_lapse(record, lapse);
    if (record.slots == 0) {
        set_held(record, terms, 0, 0);
    }
}

std::optional<SlotsCall> due(SlotsRecord& record, const SlotsTerms& terms, IdleSlots idle) noexcept {
    drop_lapsed(record, terms);
    const bool returns = idle == IdleSlots::go_back && terms.truth == Truth::redis &&
                         slots_of(record) > running(record) && !is_under_way(record, terms);
    if (returns) {
        return begin(record, terms, running(record));
    }
    if (next_due(record, terms) > terms.now) {
        return std::nullopt;
    }
    const bool gives_back = has_idle(record, terms) && idle_left(record, terms) <= 0;
    const std::int64_t want =
        gives_back ? needed(record, terms.limit) : std::max(running(record), slots_of(record));
    return begin(record, terms, want);
}

Millis next_due(const SlotsRecord& record, const SlotsTerms& terms) noexcept {
    if (terms.truth == Truth::local) {
        return never_due;
    }
    if (is_under_way(record, terms)) {
        return terms.now + terms.patience - since(record.asked, terms.now);
    }
    Millis left = never_due - terms.now;
    // The slots that Redis has are not known, or are fewer than what runs.
    const bool is_wrong = record.in_doubt || running(record) > held(record, terms);
    if (is_wrong) {
        left = std::min(left, idle_time - since(record.asked, terms.now));
    }
    if (held(record, terms) != 0) {
        const Millis renewal = lapse_of(record) - terms.ttl / 2 - terms.now;
        left = std::min(left, std::max(renewal, idle_time - since(record.asked, terms.now)));
        left = has_idle(record, terms) ? std::min(left, idle_left(record, terms)) : left;
    }
    return terms.now + left;
}

void learn(SlotsRecord& record, const SlotsTerms& terms, const SlotsCall& call,
           const SlotsAnswer& answer) noexcept {
    if (call.number != record.number) {
        return;
    }
    record.calling = false;
    record.asked = low_half(terms.now);  // however long the way is, the answer is as good as new
    record.others = static_cast<std::uint64_t>(bounded(answer.others));
    if (answer.number > call.number) {
        // Redis had a later call, which this machine knows nothing of: its clock went back, or another
        // program wrote there. The next call comes after it.
        record.number = std::min(answer.number, greatest_number);
        return;
    }
    record.in_doubt = false;
    if (answer.held > slots_of(record)) {
        record.needed = low_half(terms.now);
    }
    set_held(record, terms, answer.held, call.sent + call.ttl);
    const std::int64_t free = std::max<std::int64_t>(0, slots_of(record) - running(record));
    const std::int64_t waiting = waiting_in(record);
    const bool all_wait_in_vain = others_of(record) + slots_of(record) >= call.limit;
    record.waiting =
        all_wait_in_vain ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(0, waiting - free));
}

void give_up(SlotsRecord& record, const SlotsTerms& terms, const SlotsCall& call) noexcept {
    if (call.number != record.number || !record.calling) {
        return;
    }
    record.calling = false;
    record.waiting = 0;
    drop_lapsed(record, terms);
}

std::int64_t used(const SlotsRecord& record, const SlotsTerms& terms) noexcept {
    return running(record) + (terms.truth == Truth::local ? 0 : others_of(record));
}

std::int64_t remaining(const SlotsRecord& record, const SlotsTerms& terms) noexcept {
    return std::max<std::int64_t>(0, terms.limit - used(record, terms));
}

void correct(SlotsRecord& record, const SlotsTerms& terms, std::int64_t live, std::uint32_t deaths) noexcept {
    const Millis lapse = lapse_of(record);
    record.running = static_cast<std::uint32_t>(std::clamp<std::int64_t>(live, 0, max_running));
    ++record.changes;
    record.deaths = deaths;
    record.calling = false;
    record.waiting = 0;
    record.needed = low_half(terms.now - idle_time);
    set_lapse(record, lapse);
    if (record.slots == 0) {
        set_held(record, terms, 0, 0);
    }
}

}  // namespace rate_limit
