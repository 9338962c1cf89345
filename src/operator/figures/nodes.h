#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/counts/node_board.h"
#include "core/text/json_text.h"
#include "limiter/configuration.h"
#include "limiter/counters.h"
#include "limiter/store_conf.h"
#include "limiter/wire/node_counts.h"
#include "operator/figures/family.h"

namespace rate_limit {

// Figures of nodes that the console tells. Functions throw std::bad_alloc.

struct NodeFigures {
    NodeBoard::Told node;
    std::string_view store;
    std::string_view shard;
    Counters<NodeCount> counters;

    std::uint64_t count(NodeCount count) const noexcept { return counters.own_count(count); }
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

/// The nodes of all shards, as metrics tell them.
class ToldNodes {
public:
    /// Adds those of one shard.
    void add(const StoreConf& store, const ShardConf& shard);

    /// Once all are there, adds what is counted together: of nodes that other servers name as the node `*` of
    /// their shard, and of those of the configuration that the zone has no room for, if there are any, as the
    /// node `*` of a shard `*` of a store `*`.
    void add_others(Zone& zone);

    const std::vector<NodeFigures>& all() const noexcept { return nodes_; }

private:
    std::vector<NodeFigures> nodes_;
    std::vector<NodeFigures> others_;
    bool all_whole_ = true;
};

/// An element of a shard's array "nodes".
void write_node(JsonText& json, const NodeFigures& node);

/// Metrics of what nodes are, and of what is counted of them.
extern const std::array<Family<NodeFigures>, 2> node_families;
extern const std::array<Family<NodeFigures>, 2> node_count_families;

}  // namespace rate_limit
