#pragma once

#include "core/topology/topology.h"
#include "limiter/store_conf.h"

namespace rate_limit {

/// The node that a topology of the store names. If its host is a name, it has no address yet; but where there
/// is no resolver to ask, it has those that the name had in "cluster" or "sentinel", if it stands there.
NodeConf discovered_node(const StoreConf& store, const Endpoint& endpoint);

}  // namespace rate_limit
