#pragma once

#include "core/limit/window.h"
#include "core/topology/topology.h"

namespace rate_limit {

/// How long a primary keeps slots that nobody claims, in milliseconds from the first map without it.
constexpr Millis unclaimed_for = 30'000;

/// Keeps slots of a cluster that nobody claims with the primary that had them, for unclaimed_for, if the map
/// does not know it any more. While a primary is replaced, a node may know that it has become a replica, and
/// not yet which node has replaced it; the former primary itself knows, and redirects. That takes seconds at
/// most. Later the former primary may be a server of somebody else.
///
/// Called with each map that a node tells: puts such groups of `before`, the map that was used until now,
/// back into `map`. In both, groups are in the order of their primaries. `now`: milliseconds, above 0, of a
/// steady clock that all processes share. Throws std::bad_alloc: `map` is what it was.
void keep_unclaimed(const Topology& before, Topology& map, Millis now);

}  // namespace rate_limit
