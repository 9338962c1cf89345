#pragma once

#include <cstdint>
#include <vector>

#include "core/counts/node_board.h"
#include "core/text/json_text.h"
#include "core/text/metrics_text.h"
#include "ngx/base/counters.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/redis_conf.h"
#include "ngx/wire/node_counts.h"

namespace rate_limit {

// What the console tells of nodes. Functions throw std::bad_alloc.

struct NodeFigures {
    NodeBoard::Told node;
    const StoreConf* store;
    const ShardConf* shard;
    Counters<NodeCount> counters;

    std::uint64_t count(NodeCount count) const noexcept {
        return counters.has_place(count) ? counters.count(count) : 0;
    }
};

/// Calls fn(NodeError) for each that is one.
template <typename Fn>
void for_each_node_error(Fn&& fn) {
    for (std::size_t i = 0; i < node_error_count; ++i) {
        if (const auto error = static_cast<NodeError>(i); error != error_of(Fault::none)) {
            fn(error);
        }
    }
}

/// The nodes of the configuration in its order, or those that its servers name, by address.
std::vector<NodeFigures> nodes_of(const StoreConf& store, const ShardConf& shard);

/// The member "nodes" of a shard's object.
void write_nodes(JsonText& json, const StoreConf& store, const ShardConf& shard);

/// The families of nodes, of all stores that some limit uses.
void write_node_metrics(MetricsText& text, const MainConf& main);

}  // namespace rate_limit
