#include "ngx/page/gathered.h"

#include <algorithm>

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

void Gathered::gather_limit() {
    const std::size_t i = limits.size();
    const Tally& tally = main.tallies->all()[i];
    LastHour::Hour hour;
    const bool has_hour = read_hour(main, tally, hour);
    limits.push_back(
        {&tally, std::move(rates_[i]), has_hour, sum_of(hour, hour.size()), sum_of(hour, error_minutes)});
}

void Gathered::gather_shard() {
    const auto [store, i] = shards_left_.back();
    shards_left_.pop_back();
    LastHour::Hour hour;
    read_hour(*store, i, hour);
    shards.push_back({store, &store->shards[i], ShardFigures(*store, i), sum_of(hour, loss_minutes),
                      nodes_of(*store, store->shards[i])});
}

bool Gathered::gather_more() {
    if (main.zone == nullptr) {
        return false;
    }
    if (!begun_) {
        begun_ = true;
        rates_ = rates_of(main);
        limits.reserve(rates_.size());
        for_each_shard(
            main, [this](const StoreConf& store, std::size_t i) { shards_left_.emplace_back(&store, i); });
        std::reverse(shards_left_.begin(), shards_left_.end());
        return true;
    }
    constexpr std::size_t limits_at_once = 50;
    for (std::size_t i = 0; i < limits_at_once && limits.size() < rates_.size(); ++i) {
        gather_limit();
    }
    if (limits.size() < rates_.size()) {
        return true;
    }
    if (!shards_left_.empty()) {
        gather_shard();
        return true;
    }
    memory = memory_of(*main.zone);
    overrides = overrides_of(main);
    LastHour::Hour hour;
    read_hour_of_room(main, hour);
    pressure = sum_of(hour, loss_minutes);
    return false;
}

}  // namespace rate_limit
