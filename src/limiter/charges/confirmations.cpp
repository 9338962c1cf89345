#include "limiter/charges/confirmations.h"

#include <algorithm>

#include "core/machine/records/confirmed.h"
#include "limiter/zone.h"

namespace rate_limit {

Confirmations::Confirmations(const StoreConf& store, const ShardConf& shard, const Nodes& nodes,
                             ShardCounters& counters, Losses& lost) noexcept
    : store_(store),
      nodes_(nodes),
      counters_(counters),
      lost_(lost),
      by_name_(!shard.discovered() && !shard.primary.host.empty()),
      may_fail_over_(shard.discovered() || by_name_ || !shard.replicas.empty()) {}

void Confirmations::prefetch(const Debt& owed) const noexcept {
    if (may_fail_over_ && owed.only_grows) {
        store_.zone->windows().prefetch(confirmed_id_of(owed.id));
    }
}

/// Without room it is not remembered.
void Confirmations::take(const Debt& owed, const Window& answer, Millis sent,
                         const std::optional<Window>& former, std::int64_t raised) noexcept {
    away_.reset();
    if (!may_fail_over_ || !owed.is_confirmed()) {
        return;
    }
    const Millis now = now_millis();
    WindowTable& windows = store_.zone->windows();
    const WindowId id = confirmed_id_of(owed.id);
    if (owed.kind == DebtKind::refunds) {
        windows.change(id, [&](ConfirmedRecord& record) { rate_limit::make_void(record, now); });
    } else if (owed.only_grows) {
        (void)windows.update(id, now,
                             [&](ConfirmedRecord& record) { note_confirmed(record, answer, sent, now); });
    }
    if (former) {
        count(owed, answer, *former, raised);
    }
}

/// A later window by the clock is none in place of the former one: another machine's clock is ahead.
void Confirmations::count(const Debt& owed, const Window& answer, const Window& former,
                          std::int64_t raised) noexcept {
    const bool next = is_by_clock(owed.window_kind) && answer.reset > former.reset;
    if (answer.reset != former.reset && !next) {
        lost_.add(Loss::not_raised, 1);
    } else if (!next && raised != 0) {
        counters_.writes.add(Write::raised);
    }
}

void Confirmations::make_void(const GivingBack& what) noexcept {
    if (may_fail_over_) {
        forget_confirmed(*store_.zone, what, now_millis());
    }
}

/// Changes that follow one another count as one: between them nobody may have asked for a window.
void Confirmations::change_primary() noexcept {
    const Millis now = now_millis();
    const Millis first = std::min(away_.value_or(now), now) - may_be_lost;
    const bool again = changed_ && now - *changed_ < confirmed_kept;
    first_ = again ? std::min(first_, first) : first;
    changed_ = now;
}

void Confirmations::look_where_name_leads() noexcept {
    const Node& primary = nodes_.primary();
    const Address* const address = primary.address_in_use();
    if (address == nullptr || primary.since() == connected_) {
        return;
    }
    connected_ = primary.since();
    if (server_ && !same_address(*server_, *address)) {
        change_primary();
    }
    server_ = *address;
}

std::optional<Window> Confirmations::of_former(const Debt& owed, bool redirected, Millis now) noexcept {
    if (by_name_) {
        look_where_name_leads();
    }
    const bool changed = changed_ && now - *changed_ < confirmed_kept;
    if (!may_fail_over_ || !owed.only_grows || !(changed || redirected)) {
        return std::nullopt;
    }
    const auto known = store_.zone->windows().find<ConfirmedRecord>(confirmed_id_of(owed.id));
    if (!known) {
        return std::nullopt;
    }
    const Millis first = changed ? first_ : now - may_be_lost;
    const Millis last = redirected ? now : *changed_ + heard_late;
    return confirmed_between(*known, first, last, owed.period, now);
}

}  // namespace rate_limit
