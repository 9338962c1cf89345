#pragma once

#include <map>

#include "core/limit/window.h"
#include "core/topology/topology.h"

namespace rate_limit {

/// Keeps slots of a cluster that nobody claims with the primary that had them, unless it is a replica by now.
/// While a primary is replaced, a node may know that it has become a replica, and not yet which node has
/// replaced it; the former primary itself knows, and redirects. That takes seconds at most. What nobody
/// claims for longer is nobody's: the former primary may be a server of somebody else by then.
class UnclaimedSlots {
public:
    /// How long a primary keeps slots that nobody claims, in milliseconds from the first map in which some of
    /// its slots are unclaimed.
    static constexpr Millis kept_for = 30'000;

    /// Called with each map that a node tells. Puts what nobody claims in `map` back to those who had it
    /// `before`, the map that was used until now; where that has lasted for kept_for, it stays as it is. In
    /// both, groups are in the order of their primaries, and slots in ascending order, successive ones in one
    /// range. `now`: milliseconds of a steady clock. Throws std::bad_alloc: `map` is what it was.
    void keep(const Topology& before, Topology& map, Millis now);

private:
    std::map<Endpoint, Millis> since_;  // of each primary that had slots which nobody claims
};

}  // namespace rate_limit
