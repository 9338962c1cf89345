#include "limiter/upkeep/note_looks.h"

#include <algorithm>
#include <cinttypes>
#include <optional>

#include "limiter/configuration.h"
#include "limiter/kinds/notes.h"
#include "limiter/store/store.h"
#include "limiter/store_conf.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// Milliseconds in which workers of the configuration before may still run.
constexpr Millis reload_time = 2000;

/// The shard of what a record names, in a store of which this worker may know nothing yet.
struct ShardPlace {
    StoreConf* conf;
    Route route;

    Shard* get() const noexcept {
        Store* store = live_store(*conf);
        return store != nullptr ? &store->at(route) : nullptr;
    }
};

/// None: it is not configured any more.
std::optional<ShardPlace> find_place(const Configuration& main, std::uint64_t digest) noexcept {
    for (StoreConf* store : main.stores) {
        Route route = 0;
        if (store->routes.find(digest, route)) {
            return ShardPlace{store, route};
        }
    }
    return std::nullopt;
}

/// A note that has ended, unless a worker has noted more since.
void forget(Zone& zone, const Noted& seen) noexcept {
    zone.debts().change(seen.id, [&](DebtRecord& note) {
        note.reset = !waits(note.kind) && note.reset == seen.reset ? 0 : note.reset;
    });
}

/// A note that has ended, of a shard that is not configured here: no longer, or not yet, while a reload
/// brings it and workers of the new configuration give its tokens back.
void forget_unknown(Zone& zone, const Noted& seen, Millis now) noexcept {
    const auto note = zone.debts().find(seen.id);
    if (!note) {
        return;
    }
    const bool stays = note->reset > now - reload_time || lives(zone, *note);
    bool gone = false;
    zone.debts().change(seen.id, [&](DebtRecord& ended) {
        if (!waits(ended.kind) && ended.reset == seen.reset) {
            ended.reset = stays ? std::min(ended.reset, now) : 0;
            gone = !stays;
        }
    });
    if (gone) {
        lose_dead(zone, *note);
    }
}

/// A note of tokens that has ended.
Looked look_after_ended(const std::optional<ShardPlace>& place, Zone& zone, const Noted& seen, Millis now,
                        Stage stage) noexcept {
    if (!place) {
        forget_unknown(zone, seen, now);
        return Looked::kept;
    }
    Shard* shard = place->get();
    if (shard == nullptr) {
        return Looked::not_at_all;
    }
    const Hoard::Left left = shard->hoard().end(seen, stage != Stage::running);
    if (left != Hoard::Left::tokens) {
        forget(zone, seen);
    }
    return left == Hoard::Left::refund ? Looked::given_back : Looked::kept;
}

}  // namespace

/// Charges of shards that the configuration does not have any more stay until their window closes, for
/// another reload may bring the shard back.
void NoteLooks::drop_closed(Zone& zone, const Noted& seen, Millis now) noexcept {
    std::uint64_t dropped = 0;
    bool gone = false;
    zone.debts().change(seen.id, [&](DebtRecord& waiting) {
        if (waiting.reset <= now && waiting.shard == seen.shard && waits(waiting.kind)) {
            dropped = waiting.charges();
            waiting.reset = 0;
            gone = true;
        }
    });
    if (gone) {
        zone.debt_counts().remove(Routes::counted_as(seen.shard));
        dropped_ += dropped;
        drop_log_.tell(process_log());
    }
}

/// The note lives on even while the primary is away. The last worker comes again while there are slots left.
Looked NoteLooks::look_after_slots(Shard* shard, const Noted& seen, Stage stage) noexcept {
    if (shard == nullptr) {
        return Looked::not_at_all;
    }
    const Holds::Look look = shard->holds().look(seen, stage != Stage::running);
    if (stage != Stage::running && look.left == Holds::Left::some) {
        kept = true;
    }
    return look.called ? Looked::given_back : Looked::kept;
}

Looked NoteLooks::look_after(const Configuration& main, const Noted& seen, Millis now, Stage stage) noexcept {
    Zone& zone = *main.zone;
    const std::optional<ShardPlace> place = find_place(main, seen.shard);
    if (seen.kind == DebtKind::slots && (place || !seen.ended)) {
        return look_after_slots(place ? place->get() : nullptr, seen, stage);
    }
    if (seen.ended && !waits(seen.kind)) {
        return look_after_ended(place, zone, seen, now, stage);
    }
    if (seen.ended) {
        if (!place) {
            drop_closed(zone, seen, now);
        }
        return !place ? Looked::kept : Looked::not_at_all;
    }
    Shard* shard = place ? place->get() : nullptr;
    if (shard == nullptr) {
        return Looked::not_at_all;
    }
    if (stage == Stage::running && !shard->nodes().primary().usable()) {
        return Looked::not_at_all;  // while it is away, tokens are all that there is
    }
    if (stage == Stage::last && shard->nodes().primary().suspended()) {
        kept = true;  // it may be only late
        return Looked::not_at_all;
    }
    return shard->hoard().look(seen, stage != Stage::running, now) ? Looked::given_back : Looked::kept;
}

void NoteLooks::log_dropped(void* self, Log& log) noexcept {
    NoteLooks& looks = *static_cast<NoteLooks*>(self);
    log_line(log, LogLevel::error,
             "rate limit: %" PRIu64
             " charges for shards that are not configured any more were dropped: their "
             "windows closed",
             looks.dropped_);
    looks.dropped_ = 0;
}

}  // namespace rate_limit
