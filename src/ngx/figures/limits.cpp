#include "ngx/figures/limits.h"

#include "ngx/base/zone.h"

namespace rate_limit {

namespace {

/// Calls fn(index, limit) for each limit and each tally in which it may count, by its index.
template <typename Fn>
void for_each_counted(const MainConf& main, Fn&& fn) {
    const std::vector<Tally>& tallies = main.tallies->all();
    for (const Limit* limit : Elements<const Limit*>(main.limits)) {
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

}  // namespace

std::vector<Rates> constant_rates_of(const MainConf& main) {
    std::vector<Rates> rates(main.tallies->all().size());
    for_each_counted(main, [&rates](std::size_t i, const Limit& limit) {
        if (limit.has_constant_rate()) {
            rates[i].emplace(limit.rate.limit, limit.rate.period);
        }
    });
    return rates;
}

std::vector<Rates> rates_of(const MainConf& main) {
    std::vector<Rates> rates = constant_rates_of(main);
    for_each_counted(main, [&](std::size_t i, const Limit& limit) {
        if (limit.has_constant_rate()) {
            return;
        }
        for (const Rate& rate : main.zone->seen_rates().read(main.tallies->all()[i].digest)) {
            if (rate.limit != 0) {
                rates[i].emplace(rate.limit, rate.period);
            }
        }
    });
    return rates;
}

}  // namespace rate_limit
