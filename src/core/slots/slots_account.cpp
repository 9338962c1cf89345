#include "core/slots/slots_account.h"

#include <algorithm>

namespace rate_limit {

namespace {

/// Numbers of lua/hold.lua have 15 digits at most.
constexpr std::int64_t greatest_number = 900'000'000'000'000;

std::uint32_t low_half(Millis time) noexcept {
    return static_cast<std::uint32_t>(time);
}

/// How long ago the moment was of which the record has the low half; long, if the clock went back.
Millis since(std::uint32_t then, Millis now) noexcept {
    return static_cast<Millis>(low_half(now) - then);
}

Millis lapse_of(const WindowRecord& record) noexcept {
    return record.reset & (pinned - 1);
}

void set_lapse(WindowRecord& record, Millis time) noexcept {
    record.reset = time + (record.in_flight != 0 ? pinned : 0);
}

std::int64_t others_of(const WindowRecord& record) noexcept {
    return static_cast<std::int64_t>(record.limit);
}

std::int64_t waiting_in(const WindowRecord& record) noexcept {
    return static_cast<std::int64_t>(record.unanswered);
}

std::int64_t bounded(std::int64_t slots) noexcept {
    return std::clamp<std::int64_t>(slots, 0, WindowRecord::max_leased);
}

/// Without slots the record is kept as long as a call may be late, where one is; else for a moment, so that
/// the limit is still known to be reached, and as the next request finds its record cheaper than it makes
/// one.
void set_held(WindowRecord& record, const SlotsTerms& terms, std::int64_t slots, Millis lapse) noexcept {
    record.leased = static_cast<std::uint64_t>(bounded(slots));
    if (record.leased == 0) {
        const bool may_be_late = record.lasting || record.confirmed;
        lapse = terms.now + (may_be_late ? terms.ttl : idle_time);
        record.truth = Truth::redis;  // nothing is lost where the table forgets it
    }
    set_lapse(record, lapse);
}

void drop_lapsed(WindowRecord& record, const SlotsTerms& terms) noexcept {
    if (record.leased != 0 && held(record, terms) == 0) {
        set_held(record, terms, 0, 0);
    }
}

/// Slots beyond those in use that so many running requests may count on: none of a small limit, nor of one
/// that is nearly reached.
std::int64_t spare(const WindowRecord& record, std::int64_t limit, std::int64_t runs) noexcept {
    const std::int64_t left = std::max<std::int64_t>(0, limit - others_of(record) - runs);
    return std::min(runs / 8, left / 4);
}

/// Slots that are in use, or to be expected to be.
std::int64_t needed(const WindowRecord& record, std::int64_t limit) noexcept {
    return running(record) + spare(record, limit, running(record));
}

bool is_below(const WindowRecord& record, std::int64_t limit) noexcept {
    return others_of(record) + running(record) < limit;
}

bool is_scarce(const WindowRecord& record, std::int64_t limit) noexcept {
    return (others_of(record) + at_hand(record)) * 4 >= limit * 3;
}

bool is_under_way(const WindowRecord& record, const SlotsTerms& terms) noexcept {
    return record.fetching && since(record.asked, terms.now) < terms.patience;
}

bool has_idle(const WindowRecord& record, const SlotsTerms& terms) noexcept {
    return at_hand(record) > needed(record, terms.limit);
}

void note_need(WindowRecord& record, const SlotsTerms& terms) noexcept {
    if (!has_idle(record, terms)) {
        record.changed = low_half(terms.now);
    }
}

/// When idle slots go back.
Millis idle_left(const WindowRecord& record, const SlotsTerms& terms) noexcept {
    const Millis left = idle_time - since(record.changed, terms.now);
    return is_scarce(record, terms.limit) ? std::min(left, slots_pause - since(record.asked, terms.now))
                                          : left;
}

void start(WindowRecord& record, const SlotsTerms& terms) noexcept {
    const Millis lapse = lapse_of(record);
    ++record.in_flight;
    ++record.ticket;
    set_lapse(record, lapse);
    note_need(record, terms);
}

/// The caller wants so many slots in all. Fewer than it holds are first fewer here.
SlotsCall begin(WindowRecord& record, const SlotsTerms& terms, std::int64_t want) noexcept {
    record.confirmed = record.confirmed || record.lasting;
    record.used = std::max(record.used + 1, terms.now);
    record.asked = low_half(terms.now);
    record.fetching = true;
    record.lasting = true;
    record.truth = Truth::redis;
    set_held(record, terms, std::min(at_hand(record), want), lapse_of(record));
    // Without a slot in use the answer may be none at all: then the number has to stay (lua/hold.lua), so
    // that an earlier call does not take slots for nobody.
    const bool leaves_number = running(record) == 0 && record.confirmed;
    const std::int64_t least = leaves_number ? 0 : running(record) + 1;
    return {record.used, terms.limit, want, least, terms.ttl, terms.now};
}

/// A call for the request that asks, and for all that have come to wait since the last one.
SlotsCall ask_for_more(WindowRecord& record, const SlotsTerms& terms) noexcept {
    const std::int64_t waiting = std::max<std::int64_t>(1, waiting_in(record));
    const std::int64_t runs = running(record) + waiting;
    const std::int64_t want = std::min(runs + spare(record, terms.limit, runs), terms.limit);
    record.unanswered = 1;
    return begin(record, terms, std::max({want, running(record), at_hand(record)}));
}

}  // namespace

std::int64_t held(const WindowRecord& record, const SlotsTerms& terms) noexcept {
    // A clock that was set back would make the slots last for longer than Redis knows of.
    const Millis left = lapse_of(record) - terms.now;
    return left > 0 && left <= terms.ttl ? at_hand(record) : 0;
}

SlotsEntry enter(WindowRecord& record, const SlotsTerms& terms, Asking asking) noexcept {
    drop_lapsed(record, terms);
    const std::int64_t used = rate_limit::used(record, terms);
    const bool below =
        terms.truth == Truth::local ? running(record) < terms.limit : is_below(record, terms.limit);
    const bool counts = record.in_flight < WindowRecord::max_in_flight;
    if (terms.limit <= 0 || !counts || (!below && terms.truth == Truth::local)) {
        return {SlotsOutcome::rejected, used, {}};
    }
    if (below && (terms.truth == Truth::local || running(record) < at_hand(record))) {
        start(record, terms);
        return {SlotsOutcome::admitted, used, {}};
    }
    // A failed call says nothing of the limit: then what was known before is no reason to reject.
    const bool failed = record.lasting && !record.fetching;
    if (!below && !failed && since(record.asked, terms.now) < slots_pause) {
        return {SlotsOutcome::rejected, used, {}};
    }
    if (is_under_way(record, terms)) {
        if (asking == Asking::at_once && record.unanswered < WindowRecord::max_unanswered) {
            ++record.unanswered;
        }
        return {SlotsOutcome::wait, used, {}};
    }
    return {SlotsOutcome::ask, used, asking == Asking::at_once ? ask_for_more(record, terms) : SlotsCall{}};
}

bool enter_anyway(WindowRecord& record, const SlotsTerms& terms) noexcept {
    if (record.in_flight == WindowRecord::max_in_flight) {
        return false;
    }
    start(record, terms);
    return true;
}

void leave(WindowRecord& record, const SlotsTerms& terms) noexcept {
    if (record.in_flight == 0) {
        return;
    }
    note_need(record, terms);
    const Millis lapse = lapse_of(record);
    --record.in_flight;
    ++record.ticket;
    set_lapse(record, lapse);
    if (record.leased == 0) {
        set_held(record, terms, 0, 0);
    }
}

std::optional<SlotsCall> due(WindowRecord& record, const SlotsTerms& terms, IdleSlots idle) noexcept {
    drop_lapsed(record, terms);
    const bool returns = idle == IdleSlots::go_back && terms.truth == Truth::redis &&
                         at_hand(record) > running(record) && !is_under_way(record, terms);
    if (returns) {
        return begin(record, terms, running(record));
    }
    if (next_due(record, terms) > terms.now) {
        return std::nullopt;
    }
    const bool gives_back = has_idle(record, terms) && idle_left(record, terms) <= 0;
    const std::int64_t want =
        gives_back ? needed(record, terms.limit) : std::max(running(record), at_hand(record));
    return begin(record, terms, want);
}

Millis next_due(const WindowRecord& record, const SlotsTerms& terms) noexcept {
    if (terms.truth == Truth::local) {
        return never_due;
    }
    if (is_under_way(record, terms)) {
        return terms.now + terms.patience - since(record.asked, terms.now);
    }
    Millis left = never_due - terms.now;
    // The slots that Redis has are not known, or are fewer than what runs.
    const bool is_wrong = record.lasting || running(record) > held(record, terms);
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

void learn(WindowRecord& record, const SlotsTerms& terms, const SlotsCall& call,
           const SlotsAnswer& answer) noexcept {
    if (call.number != record.used) {
        return;
    }
    record.fetching = false;
    record.asked = low_half(terms.now);  // however long the way is, the answer is as good as new
    record.limit = static_cast<std::uint64_t>(bounded(answer.others));
    if (answer.number > call.number) {
        // Redis had a later call, which this machine knows nothing of: its clock went back, or another
        // program wrote there. The next call comes after it.
        record.used = std::min(answer.number, greatest_number);
        return;
    }
    record.lasting = false;
    if (answer.held > at_hand(record)) {
        record.changed = low_half(terms.now);
    }
    set_held(record, terms, answer.held, call.sent + call.ttl);
    const std::int64_t free = std::max<std::int64_t>(0, at_hand(record) - running(record));
    const std::int64_t waiting = waiting_in(record);
    const bool all_wait_in_vain = others_of(record) + at_hand(record) >= call.limit;
    record.unanswered =
        all_wait_in_vain ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(0, waiting - free));
}

void give_up(WindowRecord& record, const SlotsTerms& terms, const SlotsCall& call) noexcept {
    if (call.number != record.used || !record.fetching) {
        return;
    }
    record.fetching = false;
    record.unanswered = 0;
    drop_lapsed(record, terms);
}

std::int64_t used(const WindowRecord& record, const SlotsTerms& terms) noexcept {
    return running(record) + (terms.truth == Truth::local ? 0 : others_of(record));
}

std::int64_t remaining(const WindowRecord& record, const SlotsTerms& terms) noexcept {
    return std::max<std::int64_t>(0, terms.limit - used(record, terms));
}

void correct(WindowRecord& record, const SlotsTerms& terms, std::int64_t live,
             std::uint32_t deaths) noexcept {
    const Millis lapse = lapse_of(record);
    record.in_flight =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(live, 0, WindowRecord::max_in_flight));
    ++record.ticket;
    record.events = deaths;
    record.fetching = false;
    record.unanswered = 0;
    record.changed = low_half(terms.now - idle_time);
    set_lapse(record, lapse);
    if (record.leased == 0) {
        set_held(record, terms, 0, 0);
    }
}

}  // namespace rate_limit
