#pragma once

#include <cstddef>
#include <vector>

#include "core/topology/topology.h"

namespace rate_limit {

/// No group.
constexpr std::size_t no_group = ~std::size_t{0};

/// For each group of `now`, which group of `before` it goes on from, so that what belongs to that one may
/// stay with it: the one with the same primary; else the one in which its primary was a replica; else, of
/// those whose primaries are no primaries any more, the one that had most of its slots. Each is the
/// predecessor of one group at most. Groups of `before` without a primary are nobody's.
std::vector<std::size_t> predecessors(const std::vector<Group>& before, const std::vector<Group>& now);

}  // namespace rate_limit
