#include "ngx/waiting.h"

#include "core/shard_choice.h"
#include "ngx/zone.h"

namespace rate_limit {

namespace {

/// And of a place the id.
WindowId place_of(const WindowId& id, std::int64_t cost, Millis reset) noexcept {
    return cost < 0 ? refund_place(id, reset) : id;
}

Owed owed_of(const WaitingCharge& waiting) noexcept {
    Owed owed;
    owed.cost = waiting.cost;
    owed.charges = waiting.charges;
    owed.period = waiting.period;
    owed.kind = waiting.kind;
    owed.reset = waiting.reset;
    owed.id = place_of(waiting.id, waiting.cost, waiting.reset);
    owed.receipt.ticket = waiting.ticket;
    return owed;
}

}  // namespace

WaitingCharges::Added WaitingCharges::add(const std::string& key, const Owed& owed, Millis now) {
    Added added;
    added.closed.charges = 0;
    if (add_to_zone(key, owed, now, added.closed)) {
        added.kept = true;
        return added;
    }
    if (owed.cost < 0) {
        return added;  // in this worker there is one sum for a key
    }
    auto found = here_.find(key);
    if (found == here_.end()) {
        if (full_here()) {
            return added;
        }
        here_.emplace(key, owed).first->second.receipt.events = Receipt::no_event;
    } else if (found->second.reset > now) {
        found->second.cost += owed.cost;
        found->second.charges += owed.charges;
    } else {
        added.closed = found->second;
        found->second = owed;
        found->second.receipt.events = Receipt::no_event;
    }
    added.kept = true;
    return added;
}

bool WaitingCharges::add_to_zone(const std::string& key, const Owed& owed, Millis now,
                                 Owed& closed) noexcept {
    if (key.size() > WaitingCharge::max_key) {
        return false;
    }
    bool added = false;
    const bool room =
        zone_.waiting().update(place_of(owed.id, owed.cost, owed.reset), now, [&](WaitingCharge& waiting) {
            if (waiting.reset != 0 && waiting.shard != shard_) {
                return;  // of the same key in another configuration
            }
            if (waiting.reset > now) {
                waiting.cost += owed.cost;
                waiting.charges += owed.charges;
            } else {
                if (waiting.reset != 0) {
                    closed = owed_of(waiting);
                }
                waiting.reset = owed.reset;
                waiting.cost = owed.cost;
                waiting.charges = owed.charges;
                waiting.shard = shard_;
                waiting.ticket = owed.receipt.ticket;
                waiting.period = static_cast<std::uint32_t>(owed.period);
                waiting.kind = owed.kind;
                waiting.set_key(key);
            }
            added = true;
        });
    return room && added;
}

bool WaitingCharges::take(std::string& key, Owed& owed) {
    if (here_.empty()) {
        // A leaving worker may know another address of the shard than those that stay.
        return (ngx_exiting == 0 || zone_.is_last()) && take_from_zone(key, owed);
    }
    auto entry = here_.extract(here_.begin());
    key.swap(entry.key());
    owed = entry.mapped();
    return true;
}

bool WaitingCharges::take_from_zone(std::string& key, Owed& owed) {
    WaitingTable& table = zone_.waiting();
    for (std::size_t looked = 0; looked < table.sets(); ++looked) {
        set_ = set_ < table.sets() ? set_ : 0;
        for (const WaitingCharge& candidate : table.records_of(set_)) {
            if (candidate.shard != shard_ || candidate.note != Note::charges) {
                continue;
            }
            key.assign(candidate.key());  // before it is taken out: this may throw
            bool taken = false;
            table.change(candidate.id, [&](WaitingCharge& waiting) {
                if (waiting.shard == shard_) {
                    owed = owed_of(waiting);
                    waiting.reset = 0;
                    taken = true;
                }
            });
            if (taken) {
                return true;
            }
        }
        ++set_;
    }
    return false;
}

std::int64_t WaitingCharges::cost_of(const WindowId& id) const noexcept {
    const auto waiting = zone_.waiting().find(id);
    return waiting && waiting->shard == shard_ ? waiting->cost : 0;
}

std::size_t WaitingCharges::count() const noexcept {
    std::size_t count = here_.size();
    zone_.waiting().for_each([&](const WaitingCharge& waiting) {
        count += waiting.shard == shard_ && waiting.note == Note::charges ? 1 : 0;
    });
    return count;
}

std::uint64_t shard_digest(std::string_view store, std::string_view shard) noexcept {
    return xxh64(shard, xxh64(store, 0));
}

}  // namespace rate_limit
