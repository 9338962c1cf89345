#include "ngx/topology/cluster_map.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ngx/topology/discovered_node.h"
#include "redis/server_words.h"
#include "redis/topology/topology_answers.h"
#include "redis/tree_reply.h"

namespace rate_limit {

ClusterMap::ClusterMap(const StoreConf& store, Owner& owner)
    : store_(store),
      owner_(owner),
      subject_("the cluster of \"" + store.name + "\""),
      trouble_(subject_, "tells its map again"),
      turn_(static_cast<std::size_t>(ngx_random())) {}

void ClusterMap::ask(const Topology& known, bool doubted) noexcept {
    try {
        next_.clear();
        known_ = known;
        if (pending_) {
            failed("a node does not answer", *node_);
        }
        if (pending_ || doubted) {
            leave();
        }
        untried_ = store_.seeds.size();
        for (const Group& group : known_.groups) {
            untried_ += group.replicas.size() + 1;
        }
        nodes_ = untried_;
        ask_next();
    } catch (...) {
        pending_ = false;  // without memory: the next round may do better
    }
}

/// Asks the node that answered last, or else the next one.
void ClusterMap::ask_next() {
    if (node_ == nullptr || !node_->usable()) {
        leave();
        choose();
    }
    --untried_;
    pending_ = true;
    node_->submit(*query_);
}

/// Takes the next of all nodes that are known; the others of the map and of the configuration follow in turn.
void ClusterMap::choose() {
    std::vector<Endpoint> named;
    for (const Group& group : known_.groups) {
        named.push_back(group.primary);
        named.insert(named.end(), group.replicas.begin(), group.replicas.end());
    }
    const std::size_t at = turn_++ % (named.size() + store_.seeds.size());
    const NodeConf conf =
        at < named.size() ? discovered_node(store_, named[at]) : store_.seeds[at - named.size()];
    left_.reserve(left_.size() + 1);  // for leave(), which the node itself may call
    leaving_.reserve(leaving_.size() + 1);
    query_ = std::make_unique<Query>(*this);
    node_ = std::make_unique<Node>(store_, nullptr, conf, Role::seed, static_cast<Node::Listener&>(*this));
}

void ClusterMap::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    if (&node != node_.get() || ended_) {
        return;  // it was left
    }
    pending_ = false;
    bool taken = false;
    bool strange = false;
    try {
        if (delivery == Delivery::answered) {
            node.served();
            taken = take(node, *reply);
            // One that serves nothing any more may be about to leave the cluster.
            strange = taken && node.learned() && !is_named(node.name());
        } else {
            failed("a node cannot be asked", node, node.trouble());
        }
    } catch (...) {
        // without memory: the next round may do better
    }
    if (!taken || strange) {
        leave();
    }
    if (taken) {
        return;
    }
    if (delivery != Delivery::answered && untried_ != 0) {
        next_.set_to_end_of_turn();
    } else {
        owner_.on_nothing();
    }
}

bool ClusterMap::is_named(const std::string& node) const {
    const auto is_it = [&node](const Endpoint& endpoint) { return endpoint.text() == node; };
    return std::any_of(known_.groups.begin(), known_.groups.end(), [&](const Group& group) {
        return is_it(group.primary) || std::any_of(group.replicas.begin(), group.replicas.end(), is_it);
    });
}

bool ClusterMap::take(const Node& node, const Reply& reply) {
    Topology found;
    std::size_t unknown = 0;
    if (reply.is_error() || reply.tree == nullptr ||
        !read_cluster_slots(*reply.tree, node.endpoint(), found, &unknown)) {
        complain(node, reply);
        return false;
    }
    if (unknown != 0 && !std::exchange(names_told_, true)) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "rate limit: %s names %uz nodes without an address: set cluster-announce-hostname, or "
                      "cluster-preferred-endpoint-type ip%s",
                      subject_.c_str(), unknown,
                      node.endpoint().host.empty()
                          ? "; or write HOST:PORT in \"cluster\", where it has a unix socket"
                          : "");
    }
    if (found.groups.empty()) {
        const char* reason = unknown == 0 ? "a node knows of no slots: is the cluster created?"
                                          : "a node names no primary with an address";
        failed(reason, node);
        return false;
    }
    failures_ = 0;
    trouble_.ended();
    if (found != known_) {
        tell_change(found);
        known_ = std::move(found);
        owner_.on_found(known_);
    }
    return true;
}

void ClusterMap::complain(const Node& node, const Reply& reply) {
    const std::string words = reply.is_error() ? server_words("CLUSTER SLOTS", reply.text_view()) : "";
    const bool alone = reply.text_view().find("cluster support disabled") != std::string_view::npos;
    const char* reason = alone ? "a node has \"cluster-enabled no\": name it in \"shard\", not in \"cluster\""
                         : reply.is_error() ? "a node refuses it"
                                            : "a node answers what is no map: is it Redis?";
    failed(reason, node, words);
}

/// While some nodes tell the map it does not matter that others do not: what is wrong with those that serve
/// slots is told by whoever needs them.
void ClusterMap::failed(const char* reason, const Node& node, const std::string& words) {
    if (++failures_ >= nodes_) {
        trouble_.failed("does not tell its map", reason,
                        words.empty() ? node.name() : node.name() + ": " + words);
    }
}

/// Says which primaries have changed. Slots that move between them are no news: they move by thousands.
void ClusterMap::tell_change(const Topology& found) const {
    // Both are in the order of their primaries.
    const auto primaries_of = [](const Topology& all, const Topology& but) {
        std::vector<Group> others;
        std::set_difference(all.groups.begin(), all.groups.end(), but.groups.begin(), but.groups.end(),
                            std::back_inserter(others),
                            [](const Group& a, const Group& b) { return a.primary < b.primary; });
        std::string text;
        for (const Group& group : others) {
            text += (text.empty() ? "" : ", ") + group.primary.text();
        }
        return text;
    };
    const std::string now = primaries_of(found, known_);
    const std::string before = primaries_of(known_, found);
    if (!known_.groups.empty() && (!now.empty() || !before.empty())) {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "rate limit: %s has %uz primaries now; new: %s; primaries no more: %s",
                      subject_.c_str(), found.groups.size(), now.empty() ? "none" : now.c_str(),
                      before.empty() ? "none" : before.c_str());
    }
}

/// The query belongs to the node until that is at its end.
void ClusterMap::leave() noexcept {
    pending_ = false;
    if (node_ == nullptr) {
        return;
    }
    left_.push_back(std::move(query_));
    leaving_.push_back(std::move(node_));
    leaving_.back()->retire();
}

void ClusterMap::on_next(void* self) noexcept {
    auto& map = *static_cast<ClusterMap*>(self);
    try {
        map.ask_next();
    } catch (...) {
        map.pending_ = false;  // without memory: the next round may do better
    }
}

void ClusterMap::hang_up() noexcept {
    next_.clear();
    leave();
}

void ClusterMap::destroy_ended() noexcept {
    const auto ended = [](const std::unique_ptr<Node>& node) { return node->at_end(); };
    leaving_.erase(std::remove_if(leaving_.begin(), leaving_.end(), ended), leaving_.end());
    if (leaving_.empty()) {
        left_.clear();
    }
}

void ClusterMap::shut_down() noexcept {
    ended_ = true;
    untried_ = 0;
    next_.clear();
    if (node_ != nullptr) {
        node_->shut_down();
    }
    for (const std::unique_ptr<Node>& node : leaving_) {
        node->shut_down();
    }
}

}  // namespace rate_limit
