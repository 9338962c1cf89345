#pragma once

#include "core/text/json_text.h"
#include "core/text/metrics_text.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/redis_conf.h"

namespace rate_limit {

// What the console tells of nodes. Functions throw std::bad_alloc.

/// The member "nodes" of a shard's object: the nodes of the configuration in its order, or those that its
/// servers name, by address.
void write_nodes(JsonText& json, const StoreConf& store, const ShardConf& shard);

/// The families of nodes, of all stores that some limit uses.
void write_node_metrics(MetricsText& text, const MainConf& main);

}  // namespace rate_limit
