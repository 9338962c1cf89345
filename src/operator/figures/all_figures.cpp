#include "operator/figures/all_figures.h"

#include <optional>
#include <utility>

#include "limiter/zone.h"
#include "operator/figures/minutes.h"

namespace rate_limit {

namespace {

/// The sum of the last `minutes` of an hour.
LastHour::Counts sum_of(const LastHour::Hour& hour, std::size_t minutes) noexcept {
    LastHour::Counts sum{};
    for (std::size_t minute = hour.size() - minutes; minute < hour.size(); ++minute) {
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += hour[minute][i];
        }
    }
    return sum;
}

}  // namespace

void AllFigures::gather_limits() {
    for (ToldLimit& limit :
         limits_of(main, document_ == For::metrics ? OfRates::constant : OfRates::also_seen)) {
        limits.push_back(std::move(limit));
    }
}

/// Pieces of the page alone. False: there are no more.
bool AllFigures::gather_hours() {
    if (document_ != For::page) {
        return false;
    }
    constexpr std::size_t limits_at_once = 50;
    for (std::size_t i = 0; i < limits_at_once && hours_ < limits.size(); ++i) {
        ToldLimit& limit = limits[hours_++];
        LastHour::Hour hour;
        (void)read_hour(main, *limit.tally, hour);
        limit.hour = sum_of(hour, hour.size());
        limit.lately = sum_of(hour, error_minutes);
    }
    return hours_ < limits.size();
}

/// False: there are no more.
bool AllFigures::gather_shard() {
    const std::optional<ShardFigures> shard = shards_.next();
    if (!shard) {
        return false;
    }
    shards.push_back({*shard, nodes_of(*shard)});
    if (document_ == For::page) {
        LastHour::Hour hour;
        read_hour(main, *shard, hour);
        shards.back().lost = sum_of(hour, loss_minutes);
    }
    return true;
}

void AllFigures::gather_others() {
    memory = memory_of(main);
    overrides = overrides_of(main, plain);
    if (document_ != For::metrics) {
        top = top_of(main, plain);
    }
    if (document_ == For::page) {
        LastHour::Hour hour;
        read_hour_of_room(main, hour);
        pressure = sum_of(hour, loss_minutes);
    }
}

}  // namespace rate_limit
