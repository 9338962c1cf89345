#pragma once

#include "t/world/chance.h"
#include "t/worlds/plan.h"

namespace rate_limit::world {

/// The differences of a world whose sites are regions of a store: its limits, its clocks, and what befalls
/// whole regions; in some of them sentinels of each region name its servers, and replace its primaries.
class RegionPlan {
public:
    /// `plan` outlives it; its sites, servers, machines and traffic are drawn. `moves`: draws sentinels,
    /// failovers, and whether a region dies for good.
    RegionPlan(Chance chance, Chance moves, Plan& plan) : chance_(chance), moves_(moves), plan_(plan) {}

    void draw();

private:
    void draw_limits();
    void add_machines();
    void begin_clocks_later();
    void add_sentinels();
    void find_by_sentinels(std::vector<ShardSetup>& shards) const;
    std::vector<std::string> sentinels_of(std::size_t region, std::size_t named) const;
    void fail_over();
    void lose_sentinel();
    void lose_for_good();
    bool stands_in(std::size_t partable, std::size_t region) const;
    void lose_regions();
    void cut(std::size_t region, Micros at, Micros life);
    void part(std::size_t region, Micros at, Micros life);
    void take_away(std::size_t region, Micros at, Micros life);

    Chance chance_;
    Chance moves_;
    Plan& plan_;
};

}  // namespace rate_limit::world
