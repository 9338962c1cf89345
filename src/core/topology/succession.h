#pragma once

#include <cstddef>
#include <vector>

#include "core/limit/window.h"
#include "core/topology/topology.h"

namespace rate_limit {

/// No group.
constexpr std::size_t no_group = ~std::size_t{0};

/// For each group of `now`, which group of `before` it goes on from, so that what belongs to that one may
/// stay with it: the one with the same primary; else the one in which its primary was a replica; else, of
/// those whose primaries are no primaries any more, the one that had most of its slots. Each is the
/// predecessor of one group at most. Groups of `before` without a primary are nobody's.
std::vector<std::size_t> predecessors(const std::vector<Group>& before, const std::vector<Group>& now);

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
