#include "operator/page/gathered.h"

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

void Gathered::gather_limit() {
    ToldLimit& limit = told_limits_[limits.size()];
    LastHour::Hour hour;
    const bool has_hour = read_hour(main, *limit.tally, hour);
    limits.push_back({limit.tally, std::move(limit.rates), limit.now, has_hour, sum_of(hour, hour.size()),
                      sum_of(hour, error_minutes)});
}

/// False: there are no more.
bool Gathered::gather_shard() {
    const std::optional<ShardFigures> shard = shards_.next();
    if (!shard) {
        return false;
    }
    LastHour::Hour hour;
    read_hour(main, *shard, hour);
    std::vector<NodeFigures> nodes;
    if (shard->store != nullptr) {
        nodes = nodes_of(*shard->store, *shard->shard);
    }
    shards.push_back({*shard, sum_of(hour, loss_minutes), std::move(nodes)});
    return true;
}

bool Gathered::gather_more() {
    if (main.zone == nullptr) {
        return false;
    }
    if (!begun_) {
        begun_ = true;
        told_limits_ = limits_with_seen_rates(main);
        limits.reserve(told_limits_.size());
        return true;
    }
    constexpr std::size_t limits_at_once = 50;
    for (std::size_t i = 0; i < limits_at_once && limits.size() < told_limits_.size(); ++i) {
        gather_limit();
    }
    if (limits.size() < told_limits_.size()) {
        return true;
    }
    if (gather_shard()) {
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
