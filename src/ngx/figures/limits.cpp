#include "ngx/figures/limits.h"

namespace rate_limit {

std::vector<Rates> rates_of(const MainConf& main) {
    const std::vector<Tally>& tallies = main.tallies->all();
    std::vector<Rates> rates(tallies.size());
    for (const Limit* limit : Elements<const Limit*>(main.limits)) {
        if (!limit->has_constant_rate()) {
            continue;
        }
        const std::pair<std::int64_t, std::int64_t> rate(limit->rate.limit, limit->rate.period);
        if (limit->tally != 0) {
            rates[limit->tally - 1].insert(rate);
            continue;
        }
        for (std::size_t i = 0; i < tallies.size(); ++i) {
            if (tallies[i].is_of(*limit)) {
                rates[i].insert(rate);
            }
        }
    }
    return rates;
}

}  // namespace rate_limit
