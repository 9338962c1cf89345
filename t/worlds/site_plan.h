#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "t/world/chance.h"
#include "t/world/events.h"

namespace rate_limit::world {

/// The places of machines, servers and sentinels of a world: all in one place, or in several data centers,
/// called sites, which are so far from one another that it can be told in milliseconds.
struct SitePlan {
    /// All stand in one place.
    SitePlan() = default;

    /// Two or three sites. place_set() follows for each replica set. `in_regions`: see there.
    explicit SitePlan(Chance chance, bool in_regions = false);

    bool several() const noexcept { return count > 1; }

    /// Draws where the members of one more replica set stand, the primary of its begin first: it is at home,
    /// a replica is in each other site, and mostly in that one, too. Returns how many there are.
    std::size_t place_set(Chance& chance);

    // Sites, numbered from 0.

    std::size_t of_machine(std::size_t number) const noexcept { return number % count; }
    std::size_t of_sentinel(std::size_t number) const noexcept { return number % count; }
    std::size_t of_server(std::size_t number) const { return several() ? servers[number] : 0; }

    /// How long bytes take from one site to another.
    Micros time(std::size_t from, std::size_t to) const { return several() ? times[from][to] : 0; }

    /// How much longer they take at random, at most.
    Micros jitter_between(std::size_t one, std::size_t other) const noexcept {
        return one == other ? 0 : jitter;
    }

    Micros longest_round_trip() const;

    // Regions, numbered from 0.

    /// How many regions a store has.
    std::size_t regions() const noexcept { return regional ? count : 1; }

    /// That of a machine: its number, from 0.
    std::size_t region_of(std::size_t machine) const noexcept { return regional ? of_machine(machine) : 0; }

    /// That whose masters the sentinel of this number watches: it stands there.
    std::size_t region_of_sentinel(std::size_t number) const noexcept {
        return regional ? of_sentinel(number) : 0;
    }

    std::size_t count = 1;
    bool regional = false;            ///< each site is a region of the store, whose primaries stand there
    std::optional<std::size_t> gone;  ///< the region that dies while the world lasts, and stays dead
    std::size_t home = 0;             ///< where primaries are in the beginning
    Micros jitter = 0;
    std::vector<std::vector<Micros>> times;  ///< from the first to the second
    std::vector<std::size_t> servers;        ///< the site of each
};

}  // namespace rate_limit::world
