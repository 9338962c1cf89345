#include "ngx/delivery.h"

#include <algorithm>
#include <vector>

#include "ngx/conf.h"
#include "ngx/log_throttle.h"
#include "ngx/store.h"
#include "ngx/store_conf.h"
#include "ngx/waiting.h"
#include "ngx/zone.h"

namespace rate_limit {

namespace {

constexpr ngx_msec_t interval = 1000;

struct Round {
    ngx_connection_t connection{};  // what nginx's debug logging of events looks at
    ngx_event_t timer{};            // cancelable
};

using Digests = std::vector<std::uint64_t>;

bool remove(Digests& digests, std::uint64_t digest) noexcept {
    const auto found = std::find(digests.begin(), digests.end(), digest);
    if (found == digests.end()) {
        return false;
    }
    digests.erase(found);
    return true;
}

Digests shards_with_charges(WaitingTable& table) {
    Digests digests;
    table.for_each([&](const WaitingCharge& waiting) {
        if (std::find(digests.begin(), digests.end(), waiting.shard) == digests.end()) {
            digests.push_back(waiting.shard);
        }
    });
    return digests;
}

/// Charges of shards that the configuration does not have any more: they stay until their window closes, for
/// another reload may bring the shard back.
void drop_closed(WaitingTable& table, const Digests& unknown, Millis now) noexcept {
    static LogThrottle throttle;
    std::uint64_t dropped = 0;
    table.for_each([&](const WaitingCharge& candidate) {
        if (candidate.reset > now ||
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

void deliver(const MainConf& main) {
    WaitingTable& table = main.zone->waiting();
    Digests digests = shards_with_charges(table);
    if (digests.empty()) {
        return;
    }
    auto** stores = static_cast<StoreConf**>(main.stores.elts);
    for (ngx_uint_t i = 0; i < main.stores.nelts; ++i) {
        for (std::size_t shard = 0; shard < stores[i]->shards.size(); ++shard) {
            Store* store = nullptr;
            if (remove(digests, shard_digest(stores[i]->name, stores[i]->shards[shard].name)) &&
                (store = stores[i]->get()) != nullptr) {
                store->shards()[shard]->charges().send_waiting();
            }
        }
    }
    if (!digests.empty()) {
        drop_closed(table, digests, now_millis());
    }
}

/// The configuration at work is asked for each time: without a master process a reload keeps this process.
void on_timer(ngx_event_t* event) noexcept {
    const MainConf* main = main_conf(ngx_cycle);
    if (main != nullptr && main->zone != nullptr && main->stores.nelts != 0 && ngx_exiting == 0) {
        try {
            deliver(*main);
        } catch (...) {
            // without memory: the next second
        }
    }
    event->log = ngx_cycle->log;
    set_timer(*event, interval);
}

}  // namespace

void start_delivery(ngx_cycle_t* cycle) noexcept {
    static Round round;
    round.connection.fd = static_cast<ngx_socket_t>(-1);
    round.timer.data = &round.connection;
    round.timer.handler = on_timer;
    round.timer.log = cycle->log;
    round.timer.cancelable = 1;
    // Workers take turns, so that one of them finds what the others would only find gone.
    set_timer(round.timer, 1 + static_cast<ngx_msec_t>(ngx_random()) % interval);
}

void log_undelivered(const ngx_cycle_t* cycle, Zone& zone) noexcept {
    std::uint64_t windows = 0;
    std::uint64_t charges = 0;
    zone.waiting().for_each([&](const WaitingCharge& waiting) {
        windows += 1;
        charges += waiting.charges;
    });
    if (windows != 0) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                      "rate limit: nginx ends while %uL charges of %uL windows wait for Redis: they are lost",
                      charges, windows);
    }
}

}  // namespace rate_limit
