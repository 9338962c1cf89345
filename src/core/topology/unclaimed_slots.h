#pragma once

#include "core/topology/topology.h"

namespace rate_limit {

/// Slots of a cluster that nobody claims in the map `now` stay with the primary that had them `before`,
/// unless it is a replica by now. While a primary is replaced a node may know that the old one is none any
/// more, and not who follows; the old one itself knows, and redirects. In both, groups are in the order of
/// their primaries, and slots in ascending order, successive ones in one range. Throws std::bad_alloc: `now`
/// means nothing then.
void keep_unclaimed(const Topology& before, Topology& now);

}  // namespace rate_limit
