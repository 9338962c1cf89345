#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/counts/node_board.h"
#include "limiter/charges/losses.h"
#include "limiter/charges/shard_counters.h"
#include "limiter/configuration.h"
#include "limiter/counters.h"
#include "limiter/store_conf.h"
#include "limiter/wire/health/board_entry.h"
#include "operator/figures/columns.h"

namespace rate_limit {

// Figures of shards: waiting charges, what was written, tokens, how long requests waited; and of their nodes.
// All shards of a cluster are one. Functions throw std::bad_alloc.

/// A shard as one worker finds it at this moment.
struct ShardFigures {
    /// `index` is that of its configuration.
    ShardFigures(const StoreConf& store, std::size_t index) noexcept;

    /// Counts of all shards together that the zone has no room for, as a shard `*` of a store `*`.
    explicit ShardFigures(Zone& zone) noexcept;

    bool is_whole() const noexcept { return counters.is_whole() && losses.is_whole(); }

    const StoreConf* store = nullptr;  ///< null: of all shards together that the zone has no room for
    const ShardConf* shard = nullptr;
    Subject subject;
    ShardCounters counters;
    Counters<Loss> losses;
    std::uint64_t windows = 0;  ///< whose charges wait
    std::uint64_t charges = 0;  ///< that wait, and refunds
    std::int64_t tokens = 0;    ///< at hand
};

/// The kinds of writes, as JSON and metrics call them.
constexpr std::array<std::string_view, 3> write_kinds = {"charge", "reservation", "refund"};

/// The shards of stores that limits use, one after the other, those of a store side by side. In the end what
/// shards count together that the zone has no room for, if there are any.
class ShardWalk {
public:
    /// `main` has a zone and outlives this.
    explicit ShardWalk(const Configuration& main) noexcept : main_(main) {}

    /// Nothing: there is no more.
    std::optional<ShardFigures> next() noexcept;

private:
    const Configuration& main_;
    std::size_t store_ = 0;  // the store of the next shard
    std::size_t shard_ = 0;
    bool all_whole_ = true;
};

/// Columns of a shard, but for its nodes. Its writes have columns `writes.KIND.RESULT`.
extern const Sheet<ShardFigures> shard_sheet;

struct NodeFigures {
    NodeBoard::Told node;
    std::string_view store;
    std::string_view shard;
    Counters<NodeCount> counters;
    bool is_one = true;  ///< false: it stands for nodes that are counted together

    std::uint64_t count(NodeCount count) const noexcept { return counters.own_count(count); }

    /// Whether a command to it, or a connection, has ever failed.
    bool has_failed() const noexcept;
};

/// The nodes of a shard: those of the configuration in its order, or those that its servers name, by address.
std::vector<NodeFigures> nodes_of(const ShardFigures& shard);

/// Sums of what is counted together: of nodes that other servers name as the node `*` of their shard, and of
/// those of the configuration that the zone has no room for, if there are any, as the node `*` of a shard `*`
/// of a store `*`.
class OtherNodes {
public:
    /// `nodes` are all of the shard.
    void add(const ShardFigures& shard, const std::vector<NodeFigures>& nodes);

    /// Once all shards have been added. To be called once.
    std::vector<NodeFigures> take(Zone& zone);

private:
    std::vector<NodeFigures> others_;
    bool all_whole_ = true;
};

extern const Sheet<NodeFigures> node_sheet;

}  // namespace rate_limit
