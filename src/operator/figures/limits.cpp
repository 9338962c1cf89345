#include "operator/figures/limits.h"

#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// Calls fn(index, limit) for each limit and each tally in which it may count, by its index.
template <typename Fn>
void for_each_counted(const Configuration& main, Fn&& fn) {
    const std::vector<Tally>& tallies = main.tallies->all();
    for (const Limit* limit : main.limits) {
        if (limit->tally != 0) {
            fn(limit->tally - 1, *limit);
            continue;
        }
        for (std::size_t i = 0; i < tallies.size(); ++i) {
            if (tallies[i].is_of(*limit)) {
                fn(i, *limit);
            }
        }
    }
}

/// Limits without a column are told together with those that have no counters.
RunningFigures running_of(const Configuration& main, const Tally& tally) noexcept {
    const bool of_others = tally.limit == nullptr;
    if (!of_others && (!tally.is_slots() || tally.store_name == Tallies::no_store)) {
        return {};
    }
    RunningCounts& counts = main.zone->running_counts();
    const RunningCounts::Column column =
        of_others ? RunningCounts::others : counts.check(tally.column, tally.digest);
    if (!of_others && column == RunningCounts::others) {
        return {0, tally.store != nullptr ? std::optional<std::uint64_t>(0) : std::nullopt};
    }
    RunningFigures found{main.zone->running(column), std::nullopt};
    if (of_others || tally.store != nullptr) {
        found.slots = counts.slots(column);
    }
    return found;
}

}  // namespace

std::vector<ToldLimit> limits_of(const Configuration& main) {
    std::vector<ToldLimit> limits;
    limits.reserve(main.tallies->all().size() + 1);
    for (const Tally& tally : main.tallies->all()) {
        limits.push_back({&tally, {}, running_of(main, tally)});
    }
    for_each_counted(main, [&limits](std::size_t i, const Limit& limit) {
        if (!limit.variable_rate) {
            limits[i].rates.insert(limit.rate);
        }
    });
    if (const Tally* others = main.tallies->others()) {
        limits.push_back({others, {}, running_of(main, *others)});
    }
    return limits;
}

std::vector<ToldLimit> limits_with_seen_rates(const Configuration& main) {
    std::vector<ToldLimit> limits = limits_of(main);
    for_each_counted(main, [&](std::size_t i, const Limit& limit) {
        if (!limit.variable_rate) {
            return;
        }
        for (const Rate& rate : main.zone->seen_rates().read(limits[i].tally->digest)) {
            if (rate.limit != 0) {
                limits[i].rates.insert(rate);
            }
        }
    });
    return limits;
}

bool is_dry(const Tally& tally) noexcept {
    return tally.limit != nullptr && tally.limit->enforced == Enforced::dry_run;
}

}  // namespace rate_limit
