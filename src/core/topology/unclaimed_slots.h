#pragma once

#include "core/limit/window.h"
#include "core/topology/topology.h"

namespace rate_limit {

/// Keeps slots of a cluster that nobody claims with the primary that had them, unless it is a replica by now.
/// While a primary is replaced a node may know that the old one is none any more, and not who follows; the
/// old one itself knows, and redirects. That takes seconds at most: what nobody claims for longer is
/// nobody's, and the old primary may be a server of somebody else by then.
class UnclaimedSlots {
public:
    static constexpr Millis kept_for = 30'000;

    /// Puts what nobody claims in `map` back to those who had it `before`, the map that was used until now.
    /// In both, groups are in the order of their primaries, and slots in ascending order, successive ones in
    /// one range. `now`: milliseconds of a steady clock. Throws std::bad_alloc: nothing has changed then.
    void keep(const Topology& before, Topology& map, Millis now);

private:
    bool keeps_ = false;
    Millis since_ = 0;  // means nothing unless it keeps some
};

}  // namespace rate_limit
