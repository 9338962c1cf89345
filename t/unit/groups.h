#pragma once

#include <utility>
#include <vector>

#include "core/topology/topology.h"

namespace rate_limit {

/// A group of a cluster, whose primary listens at port 1.
inline Group group(const char* primary, std::vector<Endpoint> replicas, std::vector<SlotRange> slots) {
    Group made;
    made.primary = {primary, 1};
    made.replicas = std::move(replicas);
    made.slots = std::move(slots);
    return made;
}

}  // namespace rate_limit
