#include "limiter/topology/cluster_map.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/topology/succession.h"
#include "limiter/topology/topology_source.h"
#include "redis/server_words.h"
#include "redis/tree_reply.h"

namespace rate_limit {

ClusterMap::ClusterMap(const StoreConf& store, Owner& owner)
    : store_(store),
      owner_(owner),
      subject_("the cluster of \"" + store.name + "\""),
      trouble_(subject_, "tells its map again"),
      turn_(static_cast<std::size_t>(random_bits())) {}

void ClusterMap::ask(const Topology& known, bool doubted) noexcept {
    try {
        next_.clear();
        known_ = known;
        if (pending_) {
            failed("a node does not answer", asked_->node);
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
    if (asked_ == nullptr || !asked_->node.usable()) {
        leave();
        choose();
    }
    --untried_;
    pending_ = true;
    asked_->node.submit(asked_->query);
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
    left_.reserve(1);  // for leave(), which the node itself may call
    asked_ = std::make_unique<Asked>(*this, conf);
}

void ClusterMap::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    if (asked_ == nullptr || &node != &asked_->node || ended_) {
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
            strange = taken && node.learned() && !known_.names(node.endpoint());
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

bool ClusterMap::take(const Node& node, const Reply& reply) {
    Topology found;
    LeftOut left_out;
    if (reply.is_error() || reply.tree == nullptr ||
        !read_cluster_slots(*reply.tree, node.endpoint(), found, &left_out)) {
        complain(node, reply);
        return false;
    }
    tell_left_out(node, left_out);
    if (found.groups.empty()) {
        const bool names_none = left_out.without_host + left_out.without_port == 0;
        failed(names_none ? "a node knows of no slots: is the cluster created?"
                          : "a node names no primary with an address",
               node);
        return false;
    }
    failures_ = 0;
    trouble_.ended();
    keep_unclaimed(known_, found, static_cast<Millis>(msec_now()));
    if (found != known_) {
        std::swap(known_, found);
        if (owner_.on_found(known_)) {
            tell_change(found);
        }
    }
    return true;
}

/// The slots of such a primary have nobody, unless it was known a while ago: see keep_unclaimed(). Their
/// requests go by rate_limit_on_error, and without this line nothing says so.
void ClusterMap::tell_left_out(const Node& node, const LeftOut& left_out) {
    if (left_out.without_host != 0 && !std::exchange(hosts_told_, true)) {
        log_line(process_log(), LogLevel::error,
                 "rate limit: %s names %zu nodes without an address: set cluster-announce-hostname, or "
                 "cluster-preferred-endpoint-type ip%s",
                 subject_.c_str(), left_out.without_host,
                 node.endpoint().host.empty()
                     ? "; or write HOST:PORT in \"cluster\", where it has a unix socket"
                     : "");
    }
    if (left_out.without_port != 0 && !std::exchange(ports_told_, true)) {
        log_line(process_log(), LogLevel::error, "rate limit: %s names %zu nodes without a port for %s",
                 subject_.c_str(), left_out.without_port,
                 store_.encrypted ? "TLS: set tls-port on them"
                                  : "clear text: set port on them, or \"ssl on\" here");
    }
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
/// slots is told by the shards that need them.
void ClusterMap::failed(const char* reason, const Node& node, const std::string& words) {
    if (++failures_ >= nodes_) {
        trouble_.failed("does not tell its map", reason,
                        words.empty() ? node.name() : node.name() + ": " + words);
    }
}

/// Says which primaries have changed. Slots that move between them are no news: they move by thousands.
void ClusterMap::tell_change(const Topology& before) const {
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
    const std::string made = primaries_of(known_, before);
    const std::string gone = primaries_of(before, known_);
    if (!before.groups.empty() && (!made.empty() || !gone.empty())) {
        log_line(process_log(), LogLevel::notice,
                 "rate limit: %s has %zu primaries now; new: %s; primaries no more: %s", subject_.c_str(),
                 known_.groups.size(), made.empty() ? "none" : made.c_str(),
                 gone.empty() ? "none" : gone.c_str());
    }
}

void ClusterMap::leave() noexcept {
    pending_ = false;
    if (asked_ == nullptr) {
        return;
    }
    const std::size_t before = left_.size();
    left_.keep(std::move(asked_));
    left_.retire_from(before);
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
    trouble_.ended(asked_by_another);
}

void ClusterMap::shut_down() noexcept {
    ended_ = true;
    untried_ = 0;
    next_.clear();
    if (asked_ != nullptr) {
        asked_->node.shut_down();
    }
    left_.for_each([](Node& node) { node.shut_down(); });
}

}  // namespace rate_limit
