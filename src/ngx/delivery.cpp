#include "ngx/delivery.h"

#include <algorithm>
#include <vector>

#include "core/lease.h"
#include "ngx/conf.h"
#include "ngx/log_throttle.h"
#include "ngx/store.h"
#include "ngx/store_conf.h"
#include "ngx/waiting.h"
#include "ngx/zone.h"

namespace rate_limit {

namespace {

constexpr ngx_msec_t interval = 1000;
constexpr ngx_msec_t interval_with_tokens = 250;

struct Round {
    ngx_connection_t connection{};  // what nginx's debug logging of events looks at
    ngx_event_t timer{};            // cancelable, unless tokens are noted, which the last worker gives back
};

Round& the_round() noexcept {
    static Round round;
    return round;
}

using Digests = std::vector<std::uint64_t>;

bool remove(Digests& digests, std::uint64_t digest) noexcept {
    const auto found = std::find(digests.begin(), digests.end(), digest);
    if (found == digests.end()) {
        return false;
    }
    digests.erase(found);
    return true;
}

/// What waits, and whose tokens are to be looked at.
struct Found {
    Digests shards;  // with charges
    std::vector<WaitingCharge> tokens;
    bool any_tokens = false;
};

bool is_due(const WaitingCharge& note, Millis now) noexcept {
    const Millis since = now - note.looked_at;
    const Millis interval = lease_interval(note.period);
    return since >= interval || (note.reset - now <= interval && since * 4 >= interval);
}

Found find_waiting(WaitingTable& table, bool all, Millis now) {
    Found found;
    table.for_each([&](const WaitingCharge& waiting) {
        if (waiting.note != Note::charges && waiting.reset <= now) {
            table.change(waiting.id, [now](WaitingCharge& note) {
                note.reset = note.note != Note::charges && note.reset <= now ? 0 : note.reset;
            });
        } else if (waiting.note != Note::charges) {
            found.any_tokens = true;
            if (all || is_due(waiting, now)) {
                found.tokens.push_back(waiting);
            }
        } else if (std::find(found.shards.begin(), found.shards.end(), waiting.shard) == found.shards.end()) {
            found.shards.push_back(waiting.shard);
        }
    });
    return found;
}

/// Charges of shards that the configuration does not have any more: they stay until their window closes, for
/// another reload may bring the shard back.
void drop_closed(WaitingTable& table, const Digests& unknown, Millis now) noexcept {
    static LogThrottle throttle;
    std::uint64_t dropped = 0;
    table.for_each([&](const WaitingCharge& candidate) {
        if (candidate.reset > now || candidate.note != Note::charges ||
            std::find(unknown.begin(), unknown.end(), candidate.shard) == unknown.end()) {
            return;
        }
        table.change(candidate.id, [&](WaitingCharge& waiting) {
            if (waiting.reset <= now) {
                dropped += waiting.charges;
                waiting.reset = 0;
            }
        });
    });
    std::uint64_t suppressed = 0;
    if (dropped != 0 && throttle.pass(suppressed)) {
        ngx_log_error(
            NGX_LOG_ERR, ngx_cycle->log, 0,
            "rate limit: %uL charges for shards that are not configured any more were dropped: their "
            "windows closed",
            dropped);
    }
}

/// One round over all shards that this worker knows. `last`: nobody will spend the tokens at hand any more.
/// True while tokens are noted.
bool deliver(const MainConf& main, bool last) {
    const Millis now = now_millis();
    Found found = find_waiting(main.zone->waiting(), last, now);
    auto** stores = static_cast<StoreConf**>(main.stores.elts);
    for (ngx_uint_t i = 0; i < main.stores.nelts; ++i) {
        for (std::size_t shard = 0; shard < stores[i]->shards.size(); ++shard) {
            const std::uint64_t digest = shard_digest(stores[i]->name, stores[i]->shards[shard].name);
            const auto is_its = [digest](const WaitingCharge& note) { return note.shard == digest; };
            const bool charges = remove(found.shards, digest) && !last;
            const bool tokens = std::any_of(found.tokens.begin(), found.tokens.end(), is_its);
            Store* store = charges || tokens ? stores[i]->get() : nullptr;
            if (store == nullptr) {
                continue;
            }
            if (charges) {
                store->shards()[shard]->charges().send_waiting();
            }
            for (const WaitingCharge& note : found.tokens) {
                if (is_its(note)) {
                    store->shards()[shard]->leases().look(note, last, now);
                }
            }
        }
    }
    if (!found.shards.empty()) {
        drop_closed(main.zone->waiting(), found.shards, now);
    }
    return found.any_tokens;
}

/// The configuration at work is asked for each time: without a master process a reload keeps this process.
void on_timer(ngx_event_t* event) noexcept {
    const MainConf* main = main_conf(ngx_cycle);
    const bool leaves = ngx_exiting != 0;
    bool tokens = false;
    if (main != nullptr && main->zone != nullptr && main->stores.nelts != 0) {
        try {
            // Others spend the tokens that a leaving worker leaves behind.
            if (!leaves || main->zone->windows().leave(static_cast<std::uint32_t>(ngx_parent))) {
                tokens = deliver(*main, leaves);
            }
        } catch (...) {
            // without memory: the next round
        }
    }
    if (leaves) {
        return;
    }
    event->log = ngx_cycle->log;
    event->cancelable = tokens ? 0 : 1;
    set_timer(*event, tokens ? interval_with_tokens : interval);
}

}  // namespace

void start_delivery(ngx_cycle_t* cycle) noexcept {
    Round& round = the_round();
    round.connection.fd = static_cast<ngx_socket_t>(-1);
    round.timer.data = &round.connection;
    round.timer.handler = on_timer;
    round.timer.log = cycle->log;
    round.timer.cancelable = 1;
    // Workers take turns, so that one of them finds what the others would only find gone.
    set_timer(round.timer, 1 + static_cast<ngx_msec_t>(ngx_random()) % interval);
}

void expect_tokens() noexcept {
    ngx_event_t& timer = the_round().timer;
    if (timer.cancelable != 0 && timer.timer_set != 0) {
        timer.cancelable = 0;
        set_timer(timer, interval_with_tokens);
    }
}

void log_undelivered(const ngx_cycle_t* cycle, Zone& zone) noexcept {
    std::uint64_t windows = 0;
    std::uint64_t charges = 0;
    zone.waiting().for_each([&](const WaitingCharge& waiting) {
        windows += waiting.note == Note::charges ? 1 : 0;
        charges += waiting.charges;
    });
    if (windows != 0) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                      "rate limit: nginx ends while %uL charges of %uL windows wait for Redis: they are lost",
                      charges, windows);
    }
}

}  // namespace rate_limit
