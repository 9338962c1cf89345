#include "t/worlds/site_plan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rate_limit::world {

SitePlan::SitePlan(Chance chance, bool in_regions)
    : count(static_cast<std::size_t>(chance.between(2, 3))),
      regional(in_regions),
      home(static_cast<std::size_t>(chance.below(static_cast<std::int64_t>(count)))),
      jitter(chance.one_of(std::array<Micros, 3>{0, 200, 2'000})),
      times(count, std::vector<Micros>(count)) {
    constexpr Micros nearest = 5'000;
    const Micros longest = chance.one_of(std::array<Micros, 3>{10'000, 30'000, regional ? 75'000 : 60'000});
    for (std::size_t from = 0; from < count; ++from) {
        for (std::size_t to = 0; to < from; ++to) {
            times[from][to] = chance.between(nearest, longest);
            // The way back is another one, sometimes.
            times[to][from] = chance.percent(70) ? times[from][to] : chance.between(nearest, longest);
        }
    }
}

/// Sites other than that of the primary come first: there a successor is sought.
std::size_t SitePlan::place_set(Chance& chance) {
    std::vector<std::size_t> members;
    for (std::size_t site = 0; site < count; ++site) {
        if (site != home) {
            members.push_back(site);
        }
    }
    if (chance.percent(50)) {
        std::reverse(members.begin(), members.end());
    }
    if (chance.percent(20)) {
        members.push_back(members.front());
    }
    if (chance.percent(75)) {
        members.push_back(home);
    }
    servers.push_back(home);
    servers.insert(servers.end(), members.begin(), members.end());
    return members.size() + 1;
}

Micros SitePlan::longest_round_trip() const {
    Micros longest = 0;
    for (std::size_t from = 0; from < times.size(); ++from) {
        for (std::size_t to = 0; to < from; ++to) {
            longest = std::max(longest, times[from][to] + times[to][from] + 2 * jitter);
        }
    }
    return longest;
}

}  // namespace rate_limit::world
