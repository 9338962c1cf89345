#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "limiter/charges/replicas.h"
#include "limiter/store_conf.h"
#include "limiter/wire/node/node.h"
#include "limiter/wire/node/retired_nodes.h"

namespace rate_limit {

// Why a request has no answer: text for a log line. The first one is for where choose_primary() finds none.
inline constexpr const char* no_primary = "the primary of the shard is not up";
inline constexpr const char* no_answer = "the primary did not answer";

/// The servers of one shard as one worker sees them: those of the configuration, or those that a topology
/// names at the time.
class Nodes final : private Node::Listener {
public:
    class Owner {
    public:
        /// The primary takes commands again after it did not, or takes none.
        virtual void on_primary_usable() noexcept = 0;
        virtual void on_primary_unusable() noexcept = 0;

        /// See Node::Listener.
        virtual void on_second_line_of_primary() noexcept = 0;

        /// The primary says that it is a replica.
        virtual void on_primary_demoted() noexcept = 0;

        /// Another node is the primary from now on, or none is.
        virtual void on_primary_changed() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// All outlive this. `sample` counts what all nodes are sent.
    Nodes(const StoreConf& store, const ShardConf& shard, Owner& owner, CommandSample& sample, Guide& guide);
    Nodes(const Nodes&) = delete;
    Nodes& operator=(const Nodes&) = delete;

    /// The shard has these nodes from now on. Those that it has already keep their connections; those that it
    /// has no more are retired. Null: no primary is known. `unfit`: replicas that are read from only where no
    /// other node is usable. Throws std::bad_alloc: the nodes are what they were.
    void assign(const NodeConf* primary, const std::vector<NodeConf>& replicas,
                const std::vector<NodeConf>& unfit);

    /// Commands wait here for the first topology, which assign() brings, as long as their owners do. This
    /// ends that, where the servers turn out to be others: see Node::hand_over().
    template <typename NodeFor>
    void hand_over(NodeFor&& node_for) noexcept {
        if (none_.usable()) {
            none_.hand_over(node_for);
            none_.shut_down();
        }
    }

    /// Nobody waits for the topology any more.
    void wait_no_longer() noexcept { none_.shut_down(); }

    /// The primary; if none is known, a node that is not usable, or at which commands wait for the first
    /// topology.
    Node& primary() noexcept { return *primary_; }
    const Node& primary() const noexcept { return *primary_; }

    /// The node that a read goes to next and that was not yet `asked`: one of the usable replicas that answer
    /// reads; if there is none, the primary, unless it was asked; if that is not usable, one of the unfit
    /// replicas, of which those that are connected go first: most others are down; else null.
    Node* choose(const Node* const* asked, std::size_t count) noexcept;

    /// A usable replica that was not yet `asked`, whether it refuses reads or not, for where choose() finds
    /// none: the one with the least load. Null: there is none.
    Node* choose_despite_refusal(const Node* const* asked, std::size_t count) noexcept;

    /// Whether reads go to all replicas in turn, however far they are.
    bool reads_spread() const noexcept { return store_.read_from == StoreConf::ReadFrom::spread; }

    /// The primary, if it can be asked for what only a primary knows or does; else null.
    Node* choose_primary() noexcept {
        return primary_->usable() && primary_->takes_writes() ? primary_ : nullptr;
    }

    /// Connects to those that have this part before they are needed. False: this worker has no room for all.
    bool keep_connections(Role role) noexcept;

    /// Reads the answers that lie in the sockets.
    void read_now() noexcept;

    /// Calls Node::call_roll() for all nodes in use.
    void call_roll() noexcept;

    void shut_down() noexcept;

private:
    using Owned = std::vector<std::unique_ptr<Node>>;

    void on_usable(Node& node) noexcept override;
    void on_unusable(Node& node) noexcept override;
    void on_second_line(Node& node) noexcept override;
    void on_demoted(Node& node) noexcept override;
    void on_end(Node& /*node*/) noexcept override { left_.on_end(); }

    static std::unique_ptr<Node> take(Owned& from, const NodeConf& conf) noexcept;
    void make(const NodeConf& conf, Role role, Owned& made);
    Node* place(const NodeConf& conf, Role role, Owned& before, Owned& made) noexcept;
    Node* find(const Node* const* asked, std::size_t count) noexcept;
    void make_unfit() noexcept;
    void leave(Owned& before) noexcept;

    const StoreConf& store_;
    const ShardConf& shard_;
    Owner& owner_;
    CommandSample& sample_;
    Guide& guide_;
    Node none_;  // the primary where none is known
    Owned all_;  // in use, the primary first if one is known
    RetiredNodes<Node> left_;
    Node* primary_ = &none_;
    Replicas replicas_;
    std::vector<NodeConf> unfit_;  // without a node so far: most are down
    std::vector<Node*> unfit_nodes_;
    std::size_t turn_;
};

}  // namespace rate_limit
