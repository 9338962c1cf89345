#include "ngx/page/gathered.h"

#include "ngx/base/zone.h"
#include "ngx/figures/minutes.h"

namespace rate_limit {

namespace {

/// Of the last minutes of an hour.
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

Gathered::Gathered(const MainConf& main, Millis now) : main(main), now(now) {
    if (main.zone == nullptr) {
        return;
    }
    LastHour::Hour hour;
    std::vector<Rates> rates = rates_of(main);
    limits.reserve(rates.size());
    for (std::size_t i = 0; i < rates.size(); ++i) {
        const Tally& tally = main.tallies->all()[i];
        const bool has_hour = read_hour(main, tally, hour);
        limits.push_back(
            {&tally, std::move(rates[i]), has_hour, sum_of(hour, hour.size()), sum_of(hour, error_minutes)});
    }
    for_each_shard(main, [&](const StoreConf& store, std::size_t i) {
        read_hour(store, i, hour);
        shards.push_back({&store, &store.shards[i], ShardFigures(store, i), sum_of(hour, loss_minutes),
                          nodes_of(store, store.shards[i])});
    });
    memory = memory_of(*main.zone);
    overrides = overrides_of(main);
    read_hour_of_room(main, hour);
    pressure = sum_of(hour, loss_minutes);
}

}  // namespace rate_limit
