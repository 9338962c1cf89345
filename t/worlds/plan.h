#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "t/worlds/machine_plan.h"
#include "t/worlds/server_plan.h"
#include "t/worlds/site_plan.h"
#include "t/worlds/traffic_plan.h"

namespace rate_limit::world {

/// The operators of a world, where its machines share overrides.
struct OperatorPlan {
    Micros pause;  ///< between two of their orders, about
    Chance course;
};

/// Worlds of one kind have seeds of their own.
enum class Places : unsigned char {
    one,      ///< all machines and servers stand in one place
    several,  ///< they stand in data centers that are apart: a far world
    regions,  ///< the same, and each is a region of the store, that writes at home
};

/// All that is random about one world, drawn from its seed before it begins. Each part draws from numbers of
/// its own: what one draws changes none of the others.
struct Plan {
    explicit Plan(std::uint64_t of, Places places = Places::one);

    /// How many faults there are, of all parts: numbered from 0.
    std::size_t fault_count() const noexcept { return servers.faults.size() + machines.faults.size(); }

    /// This plan with the faults of these numbers alone. Throws std::out_of_range.
    Plan with_faults(const std::vector<std::size_t>& numbers) const;

    std::string describe_fault(std::size_t number) const;

    /// No fault has been for calms_in, and nothing of one waits any more.
    bool is_calm(Micros now) const noexcept;

    /// The words to type behind "make world", beside the seed, to see it again.
    const char* kind() const noexcept {
        return sites.regional ? "REGIONS=1 " : sites.several() ? "FAR=1 " : "";
    }

    /// Addresses of all that a machine may be parted from: servers and, where there are several sites,
    /// sentinels.
    std::vector<std::string> partable() const;

    std::uint64_t seed;  ///< also of what workers choose, and of what is random on the network
    Micros lasts;        ///< requests and faults come until then; it heals afterwards
    SitePlan sites;
    ServerPlan servers;
    MachinePlan machines;
    TrafficPlan traffic;
    /// Configurations of machines: the first, and what may replace it; of several regions for each
    /// its own, one behind another.
    std::vector<Setup> setups;
    Chance course;  ///< what requests choose as they come
    OperatorPlan operators;

private:
    void stand_apart(Chance chance);
    void add_setups(const Setup& setup);
    void lose_replicas(Chance& chance);
    void lose_sites(Chance& chance);
    void cut_off(std::size_t site, Micros at, Micros life);
    void take_away(std::size_t site, Micros at, Micros life);
    void fail_over(Micros at, Micros life);
};

}  // namespace rate_limit::world
