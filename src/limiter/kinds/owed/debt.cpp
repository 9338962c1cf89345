#include "limiter/kinds/owed/debt.h"

#include <algorithm>

#include "core/bucket/bucket_account.h"
#include "limiter/kinds/owed/demand.h"

namespace rate_limit {

namespace {

/// 0: there is none.
std::uint64_t earlier(std::uint64_t a, std::uint64_t b) noexcept {
    const bool first = a != 0 && (b == 0 || static_cast<std::int64_t>(a - b) < 0);
    return first ? a : b;
}

/// The ticket of the later window: a machine awaits no charge of one that has ended there.
Ticket later(Ticket a, Ticket b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0 ? b : a;
}

}  // namespace

Debt debt_of(const DebtRecord& waiting) noexcept {
    Debt owed;
    owed.kind = waiting.kind;
    owed.window_kind = waiting.window_kind;
    owed.reset = waiting.reset;
    owed.id = window_id_of(waiting.id, waiting);
    owed.cost = waiting.cost();
    owed.charges = waiting.charges();
    if (waiting.window_kind == WindowKind::bucket) {
        owed.fill = waiting.to_bucket.fill;
        owed.receipt_of_bucket.mark = waiting.to_bucket.mark;
    } else {
        owed.period = waiting.to_window.period;
        owed.receipt.ticket = waiting.to_window.ticket;
        owed.only_grows = waiting.to_window.only_grows != 0;
    }
    return owed;
}

void put(DebtRecord& waiting, const Debt& owed) noexcept {
    waiting.kind = owed.kind;
    waiting.window_kind = owed.window_kind;
    waiting.reset = owed.reset;
    if (owed.of_bucket()) {
        waiting.to_bucket = {owed.cost, owed.charges, owed.fill, owed.receipt_of_bucket.mark};
    } else {
        waiting.to_window = {owed.cost, owed.charges, owed.receipt.ticket,
                             static_cast<std::uint32_t>(owed.period), owed.only_grows ? 1U : 0U};
    }
}

/// A refund to a bucket is worth no more than its own end says, each by itself.
bool Debt::joins(const Debt& more) const noexcept {
    const bool same_end = of_bucket() ? kind == DebtKind::charges : reset == more.reset;
    return kind == more.kind && same_end && receipt.ticket == more.receipt.ticket;
}

void Debt::join(const Debt& more) noexcept {
    charges += more.charges;
    if (!of_bucket()) {
        cost = add_used(cost, more.cost);
        only_grows = only_grows && more.only_grows;
        receipt.ticket = later(receipt.ticket, more.receipt.ticket);
        return;
    }
    fill = std::max(fill, more.fill);
    cost = std::min(std::min(cost, fill) + std::min(more.cost, fill), fill);  // more than that is never owed
    reset = std::max(reset, more.reset);
    receipt_of_bucket = {earlier(receipt_of_bucket.mark, more.receipt_of_bucket.mark), 0};
}

Debt debt_of(const Demand& demand, DebtKind kind, std::int64_t cost, Millis reset) noexcept {
    Debt owed;
    owed.kind = kind;
    owed.window_kind = demand.window_kind;
    owed.cost = cost;
    owed.period = demand.rate.period;
    owed.reset = reset;
    owed.id = demand.id;
    owed.fill = demand.fill;
    return owed;
}

/// The cost is in nanoseconds: as many tokens of one each. What goes back is worth no more than what is not
/// refilled yet.
Draw draw_of(const Debt& owed, Millis now) noexcept {
    if (owed.kind != DebtKind::refunds) {
        return {1, owed.fill, owed.cost, 0, 0};
    }
    const Nanos missing = nanos_of(std::max<Millis>(0, owed.reset - now));
    return {1, owed.fill, -std::min(owed.cost, missing), 0, 0, owed.receipt_of_bucket};
}

std::int64_t learn_taken(WindowTable& windows, const Debt& owed, const Told& told, Millis now) noexcept {
    std::int64_t lost = 0;
    if (owed.of_bucket()) {
        windows.change(owed.id, [&](BucketRecord& record) {
            learn_bucket(record, owed.fill, now, told.window.used);
            note_returned(record, told.returned);
        });
        return lost;
    }
    windows.change(owed.id, [&](WindowRecord& record) {
        if (owed.kind == DebtKind::refunds) {
            confirm_refund(record, owed.reset, told.window);
            return;
        }
        lost = at_hand(record);
        confirm(record, owed.receipt, owed.charges, owed.period, now, told.window, owed.reset);
        lost -= at_hand(record);
    });
    return lost;
}

void note_resent(WindowTable& windows, const Debt& owed, Millis now) noexcept {
    if (!owed.of_bucket()) {
        windows.change(owed.id, [now](WindowRecord& record) { resend(record, now); });
    }
}

}  // namespace rate_limit
