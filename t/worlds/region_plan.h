#pragma once

#include "t/world/chance.h"
#include "t/worlds/plan.h"

namespace rate_limit::world {

/// What is otherwise in a world whose sites are regions of a store: its limits, its clocks, and what befalls
/// whole regions.
class RegionPlan {
public:
    /// `plan` outlives it; its sites, servers, machines and traffic are drawn.
    RegionPlan(Chance chance, Plan& plan) : chance_(chance), plan_(plan) {}

    void draw();

private:
    void draw_limits();
    void add_machines();
    void begin_clocks_later();
    void lose_regions();
    void cut(std::size_t region, Micros at, Micros life);
    void part(std::size_t region, Micros at, Micros life);
    void take_away(std::size_t region, Micros at, Micros life);

    Chance chance_;
    Plan& plan_;
};

}  // namespace rate_limit::world
