#include "ngx/store/shard.h"

namespace rate_limit {

Shard::Shard(const StoreConf& store, const ShardConf& shard, Deadlines& deadlines)
    : store_(store),
      name_(shard.name),
      deadlines_(deadlines),
      nodes_(store, shard, *this),
      charges_(store, shard.name, nodes_),
      fetches_(store, shard.name, nodes_, charges_, deadlines) {}

void Shard::on_usable(Node& node) noexcept {
    if (node.is_primary()) {
        charges_.send_batch();
    }
}

void Shard::on_unusable(Node& node) noexcept {
    if (node.is_primary()) {
        charges_.close_gate();
    }
}

}  // namespace rate_limit
