#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/topology/topology.h"
#include "limiter/loop.h"
#include "limiter/topology/sentinel_query.h"
#include "limiter/topology/topology_source.h"
#include "limiter/wire/health/server_log.h"
#include "limiter/wire/node/node.h"
#include "limiter/wire/node/retired_nodes.h"

namespace rate_limit {

/// The sentinels of one store: those of the configuration, and those that they name. The worker that has the
/// turn asks all of them in rounds where each shard's master is.
///
/// A sentinel's word with a higher config-epoch than is known counts at once, as only a majority of sentinels
/// can begin an epoch. One that differs with the same epoch or a lower one counts if more than half of all
/// sentinels say it in one round: it does after a SENTINEL RESET, and never if one of them has slept. All are
/// those that are known here, or more, where the sentinels know of more. One that is known by a name and by
/// an address has one vote: it is recognized by the address that its connections lead to.
class Sentinels final : public TopologySource, private Node::Listener, private SentinelQuery::Owner {
public:
    /// `store` and `owner` outlive this.
    Sentinels(const StoreConf& store, TopologySource::Owner& owner);

    /// Begins a round.
    void ask(const Topology& known, bool doubted) noexcept override;
    void hang_up() noexcept override;
    void shut_down() noexcept override;

private:
    /// One sentinel, and what is wrong with its answers.
    struct Sentinel {
        Sentinel(const StoreConf& store, const NodeConf& conf, Node::Listener& listener);

        const std::string subject;
        const bool learned;     // from other sentinels
        const bool resolvable;  // false: it has told a name, and there is nobody to ask for its address
        OutageLog trouble;
        Node node;
    };

    /// The word of one sentinel in this round.
    struct Vote {
        Address by;  // address at which it was asked
        Endpoint primary;
        std::uint64_t epoch = 0;
        std::uint32_t sentinels = 0;  // how many there are
    };

    /// One shard as the sentinels know it.
    struct Master {
        std::vector<Vote> votes;  // this round's
        Msec replicas_asked = 0;  // when; 0: not since the master changed
    };

    void on_end(Node& /*node*/) noexcept override { left_.on_end(); }
    void on_answer(SentinelQuery::Kind kind, std::size_t shard, Node& node,
                   const Reply* reply) noexcept override;

    void begin_round(const Topology& known);
    void take_master(std::size_t shard, Node& node, const Reply& reply);
    void take_replicas(std::size_t shard, const Reply& reply);
    void take_peers(const Reply& reply);
    void ask_for_replicas(std::size_t shard, Node& node) noexcept;
    void ask_for_peers(std::size_t shard, Node& node) noexcept;
    std::size_t count_known() const noexcept;
    void judge(std::size_t shard, std::size_t known);
    void accept(std::size_t shard, const Vote& vote);
    bool complain(Node& node, std::size_t shard, const Reply& reply);
    Sentinel* find(const Node& node) noexcept;
    void add(const NodeConf& conf);
    void forget_gone(const std::vector<NodeConf>& named);
    void let_go(std::unique_ptr<Sentinel>& sentinel) noexcept;

    const StoreConf& store_;
    const std::string subject_;
    TopologySource::Owner& owner_;
    Topology known_;
    std::vector<Master> masters_;  // same indexes as the shards
    std::vector<std::unique_ptr<Sentinel>> all_;
    RetiredNodes<Sentinel> left_;
    std::size_t unanswered_ = 0;   // queries of any round
    bool heard_ = false;           // some sentinel has answered in this round
    bool asked_ = false;           // some sentinel was asked in this round
    std::size_t asked_peers_ = 0;  // the round in which they were last asked for
    std::size_t rounds_ = 0;
    OutageLog silence_;
};

}  // namespace rate_limit
