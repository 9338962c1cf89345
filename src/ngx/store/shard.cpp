#include "ngx/store/shard.h"

namespace rate_limit {

Shard::Shard(const StoreConf& store, const ShardConf& shard, Deadlines& deadlines)
    : store_(store),
      name_(shard.name),
      deadlines_(deadlines),
      nodes_(store, shard, *this),
      charges_(store, shard, nodes_),
      fetches_(store, shard.name, nodes_, charges_, deadlines) {
    nodes_.assign(&shard.primary, shard.replicas);
}

}  // namespace rate_limit
