#include "core/machine/windows/window_account.h"

#include <algorithm>
#include <array>

#include "core/limit/clocks.h"

namespace rate_limit {

namespace {

void set_limit(WindowRecord& record, std::int64_t limit) noexcept {
    record.limit = static_cast<std::uint64_t>(std::clamp<std::int64_t>(limit, 0, max_limit));
}

void open(WindowRecord& record, const Terms& terms, Millis reset) noexcept {
    const WindowRecord before = record;
    record = WindowRecord{};
    record.id = before.id;
    record.pace = before.pace;
    record.reset = reset;
    record.ticket = static_cast<Ticket>(reset);
    record.truth = terms.truth;
    set_limit(record, terms.rate.limit);
}

void open_if_ended(WindowRecord& record, const Terms& terms) noexcept {
    if (!is_open(record, terms.rate.period, terms.now)) {
        open(record, terms, terms.proposed);
    }
    set_limit(record, terms.rate.limit);
}

void set_window(WindowRecord& record, std::int64_t used, Millis reset) noexcept {
    if (record.used != used || record.reset != reset) {
        record.same_answers = 0;
    }
    record.answered = record.answered && record.reset == reset;
    record.lasting = record.lasting && record.reset == reset;
    record.used = std::clamp<std::int64_t>(used, 0, most_used);
    // Tokens that Redis no longer counts are lost: an operator or a failover has removed them.
    record.leased =
        record.reset == reset ? std::min(record.leased, static_cast<std::uint64_t>(record.used)) : 0;
    record.reset = reset;
    record.confirmed = true;
}

/// Raises the record to what the answer says. Both windows are open.
void merge(WindowRecord& record, const Window& answer, Millis known) noexcept {
    const WindowRecord before = record;
    const bool newer = record.reset == known || (answer.reset != known && answer.reset > record.reset);
    if (answer.reset == record.reset || !record.confirmed) {
        set_window(record, std::max(answer.used, record.used), answer.reset);
    } else if (newer) {
        set_window(record, answer.used, answer.reset);  // Redis has lost the window, and opened another
    }
    if (record != before) {
        record.events = record.events + 1;  // an answer to an earlier question may be older than this one
    }
}

void replace_or_learn(WindowRecord& record, const Terms& terms, const Window& answer,
                      const Question& question) noexcept {
    if (is_on_its_way(record, terms.now, question.patience) || record.events != question.events ||
        !is_open(record, terms.rate.period, terms.now)) {
        learn(record, terms, answer, question.known);
        return;
    }
    if (question.waiting == 0) {
        record.unanswered = 0;
    }
    if (is_open(answer, terms.rate.period, terms.now)) {
        set_window(record, add_used(std::max<std::int64_t>(0, answer.used), question.waiting), answer.reset);
        return;
    }
    record.used = question.waiting;
    record.leased = 0;
    record.confirmed = false;
    record.lasting = false;
    if (record.in_flight == 0 && record.used == 0) {
        record.reset = 0;
    } else if (record.used == 0) {
        record.reset = terms.proposed;
    }
}

}  // namespace

bool is_open(const WindowRecord& record, std::int64_t period, Millis now) noexcept {
    return is_open(Window{record.used, record.reset}, period, now);
}

bool enter(WindowRecord& record, const Terms& terms) noexcept {
    if (terms.rate.limit <= 0) {
        return false;
    }
    open_if_ended(record, terms);
    if (taken(record) >= terms.rate.limit || record.in_flight == WindowRecord::max_in_flight) {
        return false;
    }
    record.in_flight = record.in_flight + 1;
    return true;
}

void leave(WindowRecord& record, Ticket ticket) noexcept {
    if (record.ticket != ticket || record.in_flight == 0) {
        return;
    }
    record.in_flight = record.in_flight - 1;
    if (record.in_flight == 0 && record.used == 0 && !record.confirmed) {
        record.reset = 0;
    }
}

bool charge_if_fits(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept {
    const bool opened = is_open(record, terms.rate.period, terms.now);
    const std::int64_t before = opened ? taken(record) : 0;
    if (add_used(before, cost) > terms.rate.limit) {
        return false;
    }
    charge(record, terms, cost);
    return true;
}

void charge(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept {
    if (cost == 0) {
        return;
    }
    open_if_ended(record, terms);
    record.used = add_used(record.used, cost);
    record.confirmed = true;
}

void refund(WindowRecord& record, Ticket ticket, std::int64_t cost) noexcept {
    if (record.ticket != ticket) {
        return;
    }
    record.used = std::max<std::int64_t>(0, record.used - cost);
    if (record.used == 0 && record.in_flight == 0) {
        record.reset = 0;
    }
}

void send(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept {
    open_if_ended(record, terms);
    record.used = add_used(record.used, cost);
    resend(record, terms.now);
    if (record.unanswered < WindowRecord::max_unanswered) {
        record.unanswered = record.unanswered + 1;
    }
}

void count_answered(WindowRecord& record, Ticket ticket, std::uint64_t charges, Millis now) noexcept {
    resend(record, now);
    if (record.ticket == ticket && record.unanswered < WindowRecord::max_unanswered) {
        record.unanswered = record.unanswered - std::min<std::uint64_t>(charges, record.unanswered);
    }
}

void resend(WindowRecord& record, Millis now) noexcept {
    record.events = record.events + 1;
    record.same_answers = 0;
    record.changed = static_cast<std::uint32_t>(now);
}

void learn(WindowRecord& record, const Terms& terms, const Window& answer, Millis known) noexcept {
    if (!is_open(answer, terms.rate.period, terms.now)) {
        return;
    }
    if (is_open(record, terms.rate.period, terms.now)) {
        merge(record, answer, known);
    } else {
        open(record, terms, answer.reset);
        set_window(record, answer.used, answer.reset);
    }
    set_limit(record, terms.rate.limit);
}

namespace {

/// Whether a window ends at least a period later than another one. Clocks are apart by whole periods there,
/// while days by the local time end at other times in other zones.
bool is_next(Millis reset, const Terms& terms, Millis other) noexcept {
    return reset - other > terms.rate.period * 1000 / 12 * 11;
}

/// Whether the record is of the window that `terms` propose.
bool is_open_elsewhere(const WindowRecord& record, const Terms& terms) noexcept {
    return is_open(record, terms.rate.period, terms.now) && !is_next(terms.proposed, terms, record.reset);
}

}  // namespace

Window window_elsewhere(const WindowRecord& record, const Terms& terms, const Window& answer) noexcept {
    const Window none{0, terms.proposed};
    if (!is_open(answer, terms.rate.period, terms.now)) {
        return none;
    }
    if (is_next(terms.proposed, terms, answer.reset)) {
        return none;
    }
    if (!is_next(answer.reset, terms, terms.proposed)) {
        return answer;
    }
    return is_open_elsewhere(record, terms) ? Window{record.used, record.reset} : none;
}

void learn_elsewhere(WindowRecord& record, const Terms& terms, const Window& answer) noexcept {
    constexpr Millis most_lag = 2000;
    const bool open = is_open_elsewhere(record, terms);
    const Window told = window_elsewhere(record, terms, answer);
    if (told.used >= record.used || !open) {
        learn(record, terms, told);
    } else if (since(record.asked_or_told, terms.now) > most_lag) {
        set_window(record, told.used, told.reset);
    } else {
        return;
    }
    record.asked_or_told = static_cast<std::uint32_t>(terms.now);
    record.answered = true;
}

void learn_count(WindowRecord& record, const Terms& terms, const Window& answer) noexcept {
    if (record.confirmed && record.reset == answer.reset && is_open(record, terms.rate.period, terms.now)) {
        merge(record, answer, 0);
        set_limit(record, terms.rate.limit);
    }
}

void confirm(WindowRecord& record, const Receipt& receipt, std::uint64_t charges, std::int64_t period,
             Millis now, const Window& answer, Millis known) noexcept {
    // True if every other charge from this machine was answered before these were sent: this answer counts
    // it.
    const bool last_word =
        record.ticket == receipt.ticket && record.events == receipt.events && record.unanswered == charges;
    count_answered(record, receipt.ticket, charges, now);
    if (!is_open(answer, period, now) || !is_open(record, period, now)) {
        return;
    }
    if (last_word) {
        set_window(record, answer.used, answer.reset);
    } else {
        merge(record, answer, known);
    }
    if (record.reset == answer.reset) {
        record.asked_or_told = static_cast<std::uint32_t>(now);
        record.answered = true;
    }
}

Millis default_freshness(std::int64_t period) noexcept {
    return std::min<Millis>(1000, period);  // a thousandth of the period
}

bool has_check_turn(const WindowRecord& record) noexcept {
    const std::uint32_t events = record.events + 1;  // a window that has just been opened is known
    return events * 2'654'435'769U >> 25 == 0;       // Fibonacci hashing
}

bool has_room(const WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept {
    const std::int64_t left = terms.rate.limit - taken(record);
    return record.confirmed && left >= cost && left >= (terms.rate.limit + terms.elsewhere + 19) / 20 &&
           is_open(record, terms.rate.period, terms.now);
}

bool may_stand_for_check(const WindowRecord& record, const Terms& terms, Millis freshness) noexcept {
    return !has_check_turn(record) && has_room(record, terms, 1) && is_fresh(record, freshness, terms.now);
}

bool is_fresh(const WindowRecord& record, Millis freshness, Millis now) noexcept {
    return record.answered && since(record.asked_or_told, now) <= freshness;
}

bool was_told(const WindowRecord& record, Millis now) noexcept {
    constexpr Millis second = 1000;
    const bool answered = record.answered && since(record.asked_or_told, now) < second;
    const bool granted =
        at_hand(record) != 0 && record.unanswered == 0 && since(record.changed, now) < second;
    return record.confirmed && (answered || granted);
}

void confirm_refund(WindowRecord& record, Millis reset, const Window& answer) noexcept {
    if (!record.confirmed || record.reset != reset) {
        return;
    }
    record.lasting = record.lasting && answer.reset == reset;
    if (record.unanswered != 0) {
        return;
    }
    if (answer.reset == reset) {
        set_window(record, std::max(answer.used, at_hand(record)), reset);
    } else if (at_hand(record) == 0) {  // else the window was there when they were granted, after this answer
        record.used = 0;
        record.confirmed = false;
        record.lasting = false;
        record.reset = record.in_flight != 0 ? reset : 0;
        record.events = record.events + 1;
    }
}

void take_given_back(WindowRecord& record, const Terms& terms, const Window& answer, bool all,
                     std::int64_t waiting) noexcept {
    resend(record, terms.now);  // an answer that was asked for before is older than this one
    if (all) {
        record.leased = 0;
        record.lasting = false;  // the key stays, but a refund can empty it again
    }
    if (!is_open(answer, terms.rate.period, terms.now)) {
        record.used = waiting;
        record.leased = 0;
        record.confirmed = false;
        record.lasting = false;
        record.answered = false;
        record.reset = record.in_flight != 0 || waiting != 0 ? record.reset : 0;
        return;
    }
    if (!is_open(record, terms.rate.period, terms.now)) {
        open(record, terms, answer.reset);
    }
    set_window(record, add_used(answer.used, waiting), answer.reset);
    set_limit(record, terms.rate.limit);
    record.asked_or_told = static_cast<std::uint32_t>(terms.now);
    record.answered = true;
}

void give_back_local(WindowRecord& record, std::int64_t cost) noexcept {
    record.used = record.used - std::min(cost, record.used);
    record.events = record.events + 1;
}

void note_lasting(WindowRecord& record, Millis reset) noexcept {
    record.lasting = record.lasting || (record.confirmed && record.reset == reset);
}

void note_lost(WindowRecord& record, Millis reset) noexcept {
    record.lasting = record.lasting && record.reset != reset;
}

void replace(WindowRecord& record, const Terms& terms, const Window& answer,
             const Question& question) noexcept {
    const bool same = is_open(answer, terms.rate.period, terms.now) && answer.reset == record.reset &&
                      add_used(answer.used, question.waiting) == record.used;
    const std::uint32_t same_answers = record.same_answers;
    replace_or_learn(record, terms, answer, question);
    record.same_answers = same ? std::min(same_answers + 1, max_same_answers) : 0;
}

bool is_on_its_way(WindowRecord& record, Millis now, Millis patience) noexcept {
    if (record.unanswered == 0) {
        return false;
    }
    constexpr Millis half_a_turn = Millis{1} << 31;  // what is longer ago than that lies ahead
    if (since(record.changed, now) > half_a_turn) {
        record.changed = static_cast<std::uint32_t>(now);
    }
    return since(record.changed, now) <= patience;
}

bool may_ask(WindowRecord& record, Millis now) noexcept {
    if (since(record.asked_or_told, now) < ask_again.at(record.same_answers)) {
        return false;
    }
    record.asked_or_told = static_cast<std::uint32_t>(now);
    record.answered = false;
    return true;
}

void heard(WindowRecord& record, Millis now) noexcept {
    if (record.same_answers == 0) {
        may_ask(record, now);
    }
}

}  // namespace rate_limit
