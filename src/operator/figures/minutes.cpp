#include "operator/figures/minutes.h"

#include <algorithm>
#include <optional>

#include "limiter/loop.h"
#include "limiter/worker.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// At least so often a worker looks whether a minute has begun: the clock may have been set.
constexpr Millis most_wait = 1000;

constexpr Millis minute = 60'000;

/// Names of lines that are not of limits.
enum Line : std::uint64_t { of_shard = 1, of_room };

LastHour::Counts counts_of(const Tally& tally) noexcept {
    LastHour::Counts counts{};
    counts[Minute::passed] = tally.counters.count(Decided::passed);
    counts[Minute::rejected] = tally.counters.count(Decided::rejected);
    counts[Minute::rejected_dry_run] = tally.counters.count(Decided::rejected_dry_run);
    for (const Decided error : {Decided::error_local, Decided::error_allowed, Decided::error_denied}) {
        counts[Minute::errors] += tally.counters.count(error);
    }
    return counts;
}

LastHour::Counts counts_of(const ShardFigures& shard) noexcept {
    LastHour::Counts counts{};
    for (const Write dropped : {Write::charges_dropped, Write::refunds_dropped}) {
        counts[LostWrites::dropped] += shard.counters.writes.own_count(dropped);
    }
    for (const Loss loss : {Loss::charges_in_doubt, Loss::reservations_in_doubt, Loss::refunds_in_doubt}) {
        counts[LostWrites::in_doubt] += shard.losses.own_count(loss);
    }
    return counts;
}

LastHour::Counts counts_of(const PressureGauge& pressure) noexcept {
    return {pressure.count(Pressure::evicted_copy), pressure.count(Pressure::evicted_tokens),
            pressure.count(Pressure::evicted_local), pressure.count(Pressure::full)};
}

std::uint64_t name_of(const Subject& shard) noexcept {
    return CounterTable::Name(xxh64(shard.shard, xxh64(shard.store, of_shard))).value();
}

std::uint64_t name_of_room() noexcept {
    return CounterTable::Name(xxh64("room", of_room)).value();
}

/// Whether the limit has counters of its own. Otherwise its tally has those of all such limits.
bool has_own(const Tally& tally) noexcept {
    return tally.counters.has_place(Decided::passed);
}

/// Calls fn(name, counts) for each line beside those of limits.
template <typename Fn>
void for_each_other_line(const Configuration& main, Fn&& fn) {
    ShardWalk shards(main);
    while (const std::optional<ShardFigures> shard = shards.next()) {
        fn(name_of(shard->subject), counts_of(*shard));
    }
    fn(name_of_room(), counts_of(main.tallies->pressure()));
}

void mark_all(const Configuration& main, Millis now) noexcept {
    LastHour& last_hour = main.zone->last_hour();
    if (!last_hour.begin_marks(now)) {
        return;
    }
    for (const Tally& tally : main.tallies->all()) {
        last_hour.mark(tally.digest, counts_of(tally), now);
    }
    for_each_other_line(
        main, [&](std::uint64_t name, const LastHour::Counts& counts) { last_hour.mark(name, counts, now); });
    last_hour.end_marks(now);
}

/// One worker's part in putting the minutes down.
struct Minutes {
    static constexpr WorkerPart part = WorkerPart::minutes;

    /// The configuration at work is asked for each time: without a master process a reload keeps this
    /// process. A worker that leaves does not know the limits of the new configuration.
    static void on_timer(void* self) noexcept {
        if (is_leaving()) {
            return;
        }
        const Millis now = now_millis();
        const Configuration* at_work = configuration_at_work();
        if (at_work != nullptr && at_work->zone != nullptr) {
            mark_all(*at_work, now);
        }
        static_cast<Minutes*>(self)->timer.set(static_cast<Msec>(std::min(minute - now % minute, most_wait)));
    }

    Timer timer{this, on_timer, Timer::Worker::leaves};
};

}  // namespace

/// Limits come first: the others have lines where there is room for all.
void place_minutes(const Configuration& main) noexcept {
    LastHour& last_hour = main.zone->last_hour();
    std::size_t names = main.tallies->all().size();
    for_each_other_line(main, [&](std::uint64_t, const LastHour::Counts&) { ++names; });
    const bool all_fit = names <= last_hour.lines();
    last_hour.begin_names();
    for (const Tally& tally : main.tallies->all()) {
        last_hour.keep(tally.digest);
    }
    for (const Tally& tally : main.tallies->all()) {
        if (has_own(tally)) {
            last_hour.add_name(tally.digest, counts_of(tally), now_millis());
        }
    }
    if (all_fit) {
        for_each_other_line(main, [&](std::uint64_t name, const LastHour::Counts& counts) {
            last_hour.keep(name);
            last_hour.add_name(name, counts, now_millis());
        });
    }
}

void start_minutes() noexcept {
    Worker::current().part<Minutes>().timer.set(1);
}

bool read_hour(const Configuration& main, const Tally& tally, LastHour::Hour& hour) noexcept {
    hour = {};
    return has_own(tally) && main.zone->last_hour().read(tally.digest, counts_of(tally), now_millis(), hour);
}

bool read_hour(const Configuration& main, const ShardFigures& shard, LastHour::Hour& hour) {
    return main.zone->last_hour().read(name_of(shard.subject), counts_of(shard), now_millis(), hour);
}

bool read_hour_of_room(const Configuration& main, LastHour::Hour& hour) noexcept {
    return main.zone->last_hour().read(name_of_room(), counts_of(main.tallies->pressure()), now_millis(),
                                       hour);
}

void write_minutes(JsonText& json, const Configuration& main, const Tally& tally) {
    LastHour::Hour hour;
    json.name("minutes").begin_array();
    if (read_hour(main, tally, hour)) {
        for (const LastHour::Counts& counts : hour) {
            json.begin_object();
            json.name("passed").count(counts[Minute::passed]);
            json.name("rejected").count(counts[Minute::rejected]);
            json.name("rejected_dry_run").count(counts[Minute::rejected_dry_run]);
            json.name("errors").count(counts[Minute::errors]);
            json.end_object();
        }
    }
    json.end_array();
}

}  // namespace rate_limit
