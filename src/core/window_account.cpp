#include "core/window_account.h"

#include <algorithm>
#include <limits>

namespace rate_limit {

namespace {

std::int64_t add(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

std::int64_t less(std::int64_t from, std::int64_t cost) noexcept {
    return std::max<std::int64_t>(0, from - cost);
}

void open(WindowRecord& record, const Terms& terms, Millis reset) noexcept {
    const WindowId id = record.id;
    record = WindowRecord{};
    record.id = id;
    record.reset = reset;
    record.limit = terms.rate.limit;
    record.ticket = static_cast<Ticket>(reset);
    record.truth = terms.truth;
    record.confirmed = terms.truth == Truth::local;
}

void open_if_ended(WindowRecord& record, const Terms& terms) noexcept {
    if (!is_open(record, terms.rate.period, terms.now)) {
        open(record, terms, terms.proposed);
    }
    record.limit = terms.rate.limit;
}

/// The same window, as the truth has it: who is in flight stays so.
void take(WindowRecord& record, const Terms& terms, const Window& answer) noexcept {
    if (!is_open(record, terms.rate.period, terms.now)) {
        open(record, terms, answer.reset);
    }
    record.used = std::max<std::int64_t>(0, answer.used);
    record.reset = answer.reset;
    record.limit = terms.rate.limit;
    record.truth = terms.truth;
    record.confirmed = true;
}

}  // namespace

bool is_open(const WindowRecord& record, std::int64_t period, Millis now) noexcept {
    return is_open(Window{record.used, record.reset}, period, now);
}

std::int64_t taken(const WindowRecord& record) noexcept {
    return add(add(record.used, record.undelivered), record.in_flight);
}

bool enter(WindowRecord& record, const Terms& terms) noexcept {
    if (terms.rate.limit <= 0) {
        return false;
    }
    open_if_ended(record, terms);
    if (taken(record) >= record.limit || record.in_flight == WindowRecord::max_in_flight) {
        return false;
    }
    record.in_flight = record.in_flight + 1;
    return true;
}

void leave(WindowRecord& record, Ticket ticket) noexcept {
    if (record.ticket == ticket && record.in_flight > 0) {
        record.in_flight = record.in_flight - 1;
    }
}

bool charge_if_fits(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept {
    if (cost == 0) {
        return true;
    }
    const bool opened = is_open(record, terms.rate.period, terms.now);
    if (add(opened ? taken(record) : 0, cost) > terms.rate.limit) {
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
    record.used = add(record.used, cost);
}

void refund(WindowRecord& record, Ticket ticket, std::int64_t cost) noexcept {
    if (record.ticket == ticket) {
        record.used = less(record.used, cost);
    }
}

void send(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept {
    if (cost == 0) {
        return;
    }
    open_if_ended(record, terms);
    record.undelivered = add(record.undelivered, cost);
}

void settle(WindowRecord& record, Ticket ticket, std::int64_t cost) noexcept {
    if (record.ticket == ticket) {
        record.undelivered = less(record.undelivered, cost);
    }
}

void learn(WindowRecord& record, const Terms& terms, const Window& answer) noexcept {
    if (!is_open(answer, terms.rate.period, terms.now)) {
        return;
    }
    Window known = answer;
    if (is_open(record, terms.rate.period, terms.now)) {
        if (answer.reset == record.reset) {
            known.used = std::max(answer.used, record.used);
        } else if (record.confirmed && answer.reset < record.reset) {
            return;  // of a window that Redis has lost since, and opened anew
        }
    }
    take(record, terms, known);
}

void replace(WindowRecord& record, const Terms& terms, const Window& answer) noexcept {
    if (is_open(answer, terms.rate.period, terms.now)) {
        take(record, terms, answer);
        return;
    }
    if (is_open(record, terms.rate.period, terms.now)) {
        record.used = 0;
        record.confirmed = false;
    }
}

}  // namespace rate_limit
