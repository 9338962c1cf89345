#include "limiter/charges/backlog.h"

#include "limiter/zone.h"
#include "redis/keys/routes.h"

namespace rate_limit {

Backlog::Added Backlog::add(std::string_view key, const Debt& owed, Millis now) noexcept {
    Added added;
    if (key.size() > DebtRecord::max_key) {
        return added;
    }
    const std::uint64_t digest = digest_of(key);
    const WindowId id = waiting_id_of(owed.kind, owed.id, owed.reset, digest);
    added.kept = zone_.debts().update(id, now, [&](DebtRecord& waiting) {
        Debt all = owed;
        if (waiting.reset > now) {
            all = debt_of(waiting);
            all.join(owed);
        } else if (waiting.reset != 0) {
            added.closed = debt_of(waiting);
        } else {
            zone_.debt_counts().add(Routes::counted_as(digest));
        }
        put(waiting, all);
        waiting.shard = digest;
        waiting.set_key(key);
    });
    if (added.kept) {
        zone_.note_waiting();
    }
    return added;
}

bool Backlog::may_search(const Cursor& cursor) noexcept {
    if (turn_ != msec_now()) {
        turn_ = msec_now();
        looked_ = 0;
    }
    const std::uint64_t waiting = count();
    if (searched_ != waiting) {
        searched_ = waiting;
        of_all_.in_vain = 0;
    }
    const bool more = waiting != 0 && cursor.in_vain < zone_.debts().sets();
    cut_short_ = more && looked_ >= sets_a_turn;
    return more && !cut_short_;
}

/// Takes the debt of this id out of the zone if `wanted(record)`. Copies its key into `key`, which has room
/// for it; null: into nothing.
template <typename Wanted>
bool Backlog::take_out(const WindowId& debt, Wanted wanted, Debt& owed, std::string* key) noexcept {
    std::uint64_t digest = 0;
    bool taken = false;
    zone_.debts().change(debt, [&](DebtRecord& waiting) {
        if (waits(waiting.kind) && waiting.reset != 0 && wanted(waiting)) {
            if (key != nullptr) {
                key->assign(waiting.key());
            }
            owed = debt_of(waiting);
            digest = waiting.shard;
            waiting.reset = 0;
            taken = true;
        }
    });
    if (taken) {
        zone_.debt_counts().remove(Routes::counted_as(digest));
    }
    return taken;
}

bool Backlog::take(Which which, std::string& key, Debt& owed) {
    // A leaving worker may know another address of the shard than those that stay.
    if (is_leaving() && !zone_.is_last()) {
        return false;
    }
    DebtTable& table = zone_.debts();
    const auto wanted = [this, which](const DebtRecord& waiting) {
        return (which == Which::all || waiting.window_kind == WindowKind::bucket) && is_ours(waiting.shard);
    };
    key.reserve(DebtRecord::max_key);  // the only thing that may throw
    Cursor& cursor = which == Which::all ? of_all_ : of_buckets_;
    for (; may_search(cursor); ++cursor.set, ++looked_, ++cursor.in_vain) {
        cursor.set = cursor.set < table.sets() ? cursor.set : 0;
        WindowId found;
        bool any = false;
        table.visit(cursor.set, [&](const WindowId& id, const DebtRecord& waiting) {
            if (waits(waiting.kind) && wanted(waiting)) {
                found = id;
                any = true;
            }
        });
        if (any && take_out(found, wanted, owed, &key)) {
            cursor.in_vain = 0;
            return true;
        }
    }
    return false;
}

bool Backlog::take_one(const WindowId& debt, Debt& owed) noexcept {
    return take_out(
        debt, [](const DebtRecord& /*waiting*/) { return true; }, owed, nullptr);
}

std::int64_t Backlog::cost_of(const WindowId& id) const noexcept {
    // All hash slots of a cluster stand for the same in an id.
    const std::uint64_t digest = routes_.digest_of(routes_.has_slots() ? Route{0} : route_);
    const auto waiting = zone_.debts().find(waiting_id_of(DebtKind::charges, id, 0, digest));
    return waiting && is_ours(waiting->shard) ? waiting->cost() : 0;
}

std::size_t Backlog::count() const noexcept {
    return count_waiting(zone_.debt_counts(), routes_, route_, guide_.parts_of(route_));
}

std::uint64_t Backlog::digest_of(std::string_view key) const noexcept {
    return rate_limit::digest_of(routes_, route_, key);
}

bool Backlog::is_ours(std::uint64_t digest) const noexcept {
    if (!routes_.has_slots()) {
        return digest == routes_.digest_of(route_);
    }
    Route slot = 0;
    return routes_.find(digest, slot) && guide_.number_of(slot) == route_;
}

std::uint64_t count_waiting(DebtCounts& counts, const Routes& routes, Route route,
                            Routes::Parts parts) noexcept {
    if (!routes.has_slots()) {
        return counts.of(Routes::counted_as(routes.digest_of(route)));
    }
    std::uint64_t sum = 0;
    for (unsigned part = 0; part < Routes::part_count; ++part) {
        if ((parts >> part & 1U) != 0) {
            sum += counts.of(Routes::counted_as(routes.digest_of(Routes::first_of(part))));
        }
    }
    return sum;
}

std::uint64_t digest_of(const Routes& routes, Route route, std::string_view window_key) noexcept {
    return routes.digest_of(routes.has_slots() ? Route{key_slot(window_key)} : route);
}

}  // namespace rate_limit
