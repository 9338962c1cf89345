#include "limiter/store/shard.h"

#include <vector>

#include "limiter/topology/topology_source.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

std::vector<NodeConf> discovered_nodes(const StoreConf& store, const std::vector<Endpoint>& endpoints) {
    std::vector<NodeConf> nodes;
    nodes.reserve(endpoints.size());
    for (const Endpoint& endpoint : endpoints) {
        nodes.push_back(discovered_node(store, endpoint));
    }
    return nodes;
}

}  // namespace

Shard::Shard(const StoreConf& store, const ShardConf& shard, Route route, Deadlines& deadlines,
             UnansweredBatches& unanswered, NumberedWindows& numbered_refunds, Guide& guide)
    : store_(store),
      name_(shard.name),
      in_cluster_(shard.in_cluster),
      deadlines_(deadlines),
      counters_(store.zone->counters(), {store.name, shard.name, {}}),
      sample_(store),
      nodes_(store, shard, *this, sample_, guide),
      charges_(store, shard, nodes_, counters_, route, numbered_refunds, guide),
      hoard_(store, route, nodes_, charges_, counters_),
      fetches_(store, route, nodes_, charges_, hoard_, counters_, deadlines, unanswered),
      holds_(store, route, nodes_, charges_, counters_, deadlines) {
    if (!shard.discovered()) {
        nodes_.assign(shard.names_primary() ? &shard.primary : nullptr, shard.replicas, {});
    }
}

void Shard::assign(const Group& group) {
    const NodeConf primary = discovered_node(store_, group.primary);
    nodes_.assign(group.primary.port != 0 ? &primary : nullptr, discovered_nodes(store_, group.replicas),
                  discovered_nodes(store_, group.unfit));
}

}  // namespace rate_limit
