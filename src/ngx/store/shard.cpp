#include "ngx/store/shard.h"

namespace rate_limit {

Shard::Shard(const StoreConf& store, const ShardConf& shard, Deadlines& deadlines, Report& report)
    : store_(store),
      name_(shard.name),
      deadlines_(deadlines),
      report_(report),
      nodes_(store, shard, *this),
      charges_(store, shard.name, nodes_, report),
      fetches_(store, shard.name, nodes_, charges_, deadlines) {}

void Shard::on_usable(Node& node) noexcept {
    if (node.is_primary()) {
        charges_.send_waiting();
    }
}

void Shard::on_unusable(Node& node) noexcept {
    if (node.is_primary()) {
        charges_.lose_primary();
    }
}

void Shard::on_error(Node& /*node*/) noexcept {
    report_.changed();
}

}  // namespace rate_limit
