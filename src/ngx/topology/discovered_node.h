#pragma once

#include "core/topology/topology.h"
#include "ngx/conf/redis_conf.h"

namespace rate_limit {

/// The node that a topology names. If its host is a name, it has no address yet.
NodeConf discovered_node(const Endpoint& endpoint);

}  // namespace rate_limit
