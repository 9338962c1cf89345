#pragma once

#include <memory>
#include <string>
#include <vector>

#include "limiter/loop.h"
#include "limiter/topology/topology_source.h"
#include "limiter/wire/health/server_log.h"
#include "limiter/wire/node/node.h"
#include "limiter/wire/node/retired_nodes.h"
#include "redis/topology/topology_replies.h"

namespace rate_limit {

/// The map of a cluster, as CLUSTER SLOTS tells it: asked of one node at a time, on a connection of its own.
/// A node that cannot be asked, does not answer until it is asked again, or answers something else, is left
/// for another one: those that the map names, and those of the configuration, in turn. So is one whose map is
/// doubted: it may be cut off from the others. Where one cannot be asked, that is at once, until each had its
/// turn.
class ClusterMap final : public TopologySource, private Node::Listener {
public:
    /// `store` and `owner` outlive this.
    ClusterMap(const StoreConf& store, Owner& owner);

    void ask(const Topology& known, bool doubted) noexcept override;
    void hang_up() noexcept override;
    void shut_down() noexcept override;

private:
    /// CLUSTER SLOTS. There is one, for one is asked at a time.
    class Query final : public Command {
    public:
        explicit Query(ClusterMap& map) noexcept : map_(map) {}
        std::string_view encode(CommandWriter& writer) override { return writer.cluster_slots(); }
        const char* name() const noexcept override { return "CLUSTER SLOTS"; }
        void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override {
            map_.answered(node, delivery, reply);
        }

    private:
        ClusterMap& map_;
    };

    /// A node, and what it is asked.
    struct Asked {
        Asked(ClusterMap& map, const NodeConf& conf)
            : query(map), node(map.store_, nullptr, conf, Role::seed, static_cast<Node::Listener&>(map)) {}

        Query query;
        Node node;
    };

    void on_end(Node& /*node*/) noexcept override { left_.on_end(); }

    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept;
    void failed(const char* reason, const Node& node, const std::string& words = {});
    void tell_change(const Topology& before) const;
    void tell_left_out(const Node& node, const LeftOut& left_out);
    bool take(const Node& node, const Reply& reply);
    void complain(const Node& node, const Reply& reply);
    void choose();
    void ask_next();
    void leave() noexcept;

    static void on_next(void* self) noexcept;

    const StoreConf& store_;
    Owner& owner_;
    const std::string subject_;
    OutageLog trouble_;
    Topology known_;
    std::unique_ptr<Asked> asked_;  // null: none is
    RetiredNodes<Asked> left_;
    std::size_t turn_;
    std::size_t untried_ = 0;   // nodes that may still be chosen in this round
    std::size_t nodes_ = 0;     // that there were in its beginning
    bool pending_ = false;      // the query has not been answered
    std::size_t failures_ = 0;  // failed nodes, since one has told the map
    bool hosts_told_ = false;
    bool ports_told_ = false;
    bool ended_ = false;  // shut_down() was called
    Timer next_{this, on_next, Timer::Worker::leaves};
};

}  // namespace rate_limit
