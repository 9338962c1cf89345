#include "ngx/figures/minutes.h"

#include <algorithm>
#include <new>

#include "ngx/base/timer.h"
#include "ngx/base/zone.h"

namespace rate_limit {

namespace {

/// At least so often a worker looks whether a minute has begun: the clock may have been set.
constexpr Millis most_wait = 1000;

constexpr Millis minute = 60'000;

enum Counted : std::size_t { passed, rejected, rejected_dry_run, errors };

LastHour::Counts counts_of(const Tally& tally) noexcept {
    LastHour::Counts counts{};
    counts[passed] = tally.counters.count(Decided::passed);
    counts[rejected] = tally.counters.count(Decided::rejected);
    counts[rejected_dry_run] = tally.counters.count(Decided::rejected_dry_run);
    for (const Decided error : {Decided::error_local, Decided::error_allowed, Decided::error_denied}) {
        counts[errors] += tally.counters.count(error);
    }
    return counts;
}

/// Where a limit has no counters of its own, its tally has those of all such limits.
bool has_own(const Tally& tally) noexcept {
    return tally.counters.has_place(Decided::passed);
}

void mark_all(const MainConf& main, Millis now) noexcept {
    LastHour& last_hour = main.zone->last_hour();
    if (!last_hour.begin_marks(now)) {
        return;
    }
    for (const Tally& tally : main.tallies->all()) {
        last_hour.mark(tally.digest, counts_of(tally), now);
    }
    last_hour.end_marks(now);
}

/// The configuration at work is asked for each time: without a master process a reload keeps this process. A
/// worker that leaves does not know the limits of the new configuration.
void on_timer(void* timer) noexcept {
    if (ngx_exiting != 0) {
        return;
    }
    const Millis now = now_millis();
    if (zone_of(ngx_cycle) != nullptr) {
        mark_all(*main_conf(ngx_cycle), now);
    }
    static_cast<Timer*>(timer)->set(static_cast<ngx_msec_t>(std::min(minute - now % minute, most_wait)));
}

}  // namespace

void place_minutes(const MainConf& main) noexcept {
    LastHour& last_hour = main.zone->last_hour();
    last_hour.begin_names();
    for (const Tally& tally : main.tallies->all()) {
        last_hour.keep(tally.digest);
    }
    for (const Tally& tally : main.tallies->all()) {
        if (has_own(tally)) {
            last_hour.add_name(tally.digest, counts_of(tally), now_millis());
        }
    }
}

void start_minutes() noexcept {
    alignas(Timer) static unsigned char memory[sizeof(Timer)];
    static Timer& timer = *new (memory) Timer(memory, on_timer, Timer::Worker::leaves);  // never destroyed
    timer.set(1);
}

void write_minutes(JsonText& json, const MainConf& main, const Tally& tally) {
    LastHour::Hour hour;
    json.name("minutes").begin_array();
    if (has_own(tally) && main.zone->last_hour().read(tally.digest, counts_of(tally), now_millis(), hour)) {
        for (const LastHour::Counts& counts : hour) {
            json.begin_object();
            json.name("passed").count(counts[passed]);
            json.name("rejected").count(counts[rejected]);
            json.name("rejected_dry_run").count(counts[rejected_dry_run]);
            json.name("errors").count(counts[errors]);
            json.end_object();
        }
    }
    json.end_array();
}

}  // namespace rate_limit
