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

// So long the last worker waits for a primary that is connected and does not serve.
constexpr ngx_msec_t last_wait = 3000;

// More at once, as after an outage, and the primary is late with its answers to requests.
constexpr int refunds_a_round = 1000;

struct Round {
    ngx_connection_t connection{};  // what nginx's debug logging of events looks at
    ngx_event_t timer{};            // cancelable, unless tokens are noted, which the last worker gives back
    ngx_msec_t known = 0;           // since when tokens are noted
    ngx_msec_t last_begun = 0;      // when this worker found itself the last one; 0: it has not
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

/// Charges that were dropped because their shard is not configured any more.
class Orphans {
public:
    void drop(std::uint64_t charges) noexcept {
        charges_ += charges;
        throttle_.tell(ngx_cycle->log);
    }

private:
    static void write(void* opaque, ngx_log_t* log) noexcept {
        auto& self = *static_cast<Orphans*>(opaque);
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "rate limit: %uL charges for shards that are not configured any more were dropped: "
                      "their windows closed",
                      self.charges_);
        self.charges_ = 0;
    }

    std::uint64_t charges_ = 0;  // since the last line
    LogThrottle throttle_{write, this};
};

/// Charges of shards that the configuration does not have any more: they stay until their window closes, for
/// another reload may bring the shard back.
void drop_closed(WaitingTable& table, const Digests& unknown, Millis now) noexcept {
    static Orphans orphans;
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
    if (dropped != 0) {
        orphans.drop(dropped);
    }
}

enum class Stage : unsigned char {
    running,  // tokens that are not needed go back
    last,     // all do: nobody will spend them any more
    over,     // also where the primary will not take them
};

/// What this worker has to do for one shard.
void deliver(Shard& shard, bool charges, const std::vector<WaitingCharge>& tokens, Stage stage, Millis now) {
    if (charges) {
        shard.charges().send_waiting();
    }
    if (stage == Stage::last && shard.primary().suspended()) {
        return;  // it may be only late
    }
    int given_back = 0;
    for (const WaitingCharge& note : tokens) {
        if (note.shard == shard.digest() && (stage != Stage::running || given_back < refunds_a_round)) {
            given_back += shard.leases().look(note, stage != Stage::running, now) ? 1 : 0;
        }
    }
}

/// One round over all shards that this worker knows. True while there is something to come back to: tokens,
/// or in the end answers that are still to come.
bool deliver(const MainConf& main, Stage stage) {
    const Millis now = now_millis();
    Found found = find_waiting(main.zone->waiting(), stage != Stage::running, now);
    bool busy = false;
    auto** stores = static_cast<StoreConf**>(main.stores.elts);
    for (ngx_uint_t i = 0; i < main.stores.nelts; ++i) {
        for (std::size_t shard = 0; shard < stores[i]->shards.size(); ++shard) {
            const std::uint64_t digest = shard_digest(stores[i]->name, stores[i]->shards[shard].name);
            const bool charges = remove(found.shards, digest);
            const bool tokens =
                std::any_of(found.tokens.begin(), found.tokens.end(),
                            [digest](const WaitingCharge& note) { return note.shard == digest; });
            Store* store = charges || tokens ? stores[i]->get() : stores[i]->runtime.get();
            if (store != nullptr) {
                deliver(*store->shards()[shard], charges, found.tokens, stage, now);
                const bool waits = (charges || tokens) && store->shards()[shard]->primary().suspended();
                busy = busy || waits || store->shards()[shard]->charges().under_way() != 0;
            }
        }
    }
    if (!found.shards.empty()) {
        drop_closed(main.zone->waiting(), found.shards, now);
    }
    return stage == Stage::running ? found.any_tokens : busy && stage == Stage::last;
}

/// The rounds of a leaving worker end when others are there to spend the tokens, and can know of them; or
/// when it has given them back.
bool has_more_rounds(const MainConf& main, Round& round) {
    if (!main.zone->leave()) {
        return ngx_current_msec - round.known <= interval;
    }
    if (round.last_begun == 0) {
        round.last_begun = ngx_current_msec;
    }
    return deliver(main, ngx_current_msec - round.last_begun < last_wait ? Stage::last : Stage::over);
}

/// The configuration at work is asked for each time: without a master process a reload keeps this process.
void on_timer(ngx_event_t* event) noexcept {
    const MainConf* main = main_conf(ngx_cycle);
    bool tokens = false;
    if (main != nullptr && main->zone != nullptr && main->stores.nelts != 0) {
        try {
            tokens = ngx_exiting != 0 ? has_more_rounds(*main, the_round()) : deliver(*main, Stage::running);
        } catch (...) {
            // without memory: the next round
        }
    }
    if (ngx_exiting != 0 && !tokens) {
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
        the_round().known = ngx_current_msec;
        set_timer(timer, interval_with_tokens);
    }
}

void log_undelivered(const ngx_cycle_t* cycle, Zone& zone) noexcept {
    std::uint64_t windows = 0;
    std::uint64_t charges = 0;
    std::uint64_t refunds = 0;
    zone.waiting().for_each([&](const WaitingCharge& waiting) {
        if (waiting.note == Note::charges && waiting.cost < 0) {
            refunds += 1;
        } else if (waiting.note == Note::charges) {
            windows += 1;
            charges += waiting.charges;
        }
    });
    if (windows != 0) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                      "rate limit: nginx ends while %uL charges of %uL windows wait for Redis: they are lost",
                      charges, windows);
    }
    if (refunds != 0) {
        ngx_log_error(
            NGX_LOG_ERR, cycle->log, 0,
            "rate limit: nginx ends before it could give back to %uL windows in Redis: they keep what "
            "was not spent until they end",
            refunds);
    }
}

}  // namespace rate_limit
