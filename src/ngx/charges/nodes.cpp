#include "ngx/charges/nodes.h"

#include <algorithm>

namespace rate_limit {

Nodes::Nodes(const StoreConf& store, const ShardConf& shard, Node::Listener& listener)
    : primary_(store, shard, shard.primary, listener),
      turn_(static_cast<std::size_t>(ngx_random())) {  // workers start at different replicas
    for (const NodeConf& replica : shard.replicas) {
        replicas_.push_back(std::make_unique<Node>(store, shard, replica, listener));
    }
}

Node* Nodes::choose(const Node* const* asked, std::size_t count) noexcept {
    const Node* const* const end = asked + count;
    const auto free = [asked, end](const Node& node) {
        return node.usable() && std::find(asked, end, &node) == end;
    };
    Node* best = nullptr;
    ++turn_;
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
        Node& replica = *replicas_[(turn_ + i) % replicas_.size()];
        if (!free(replica)) {
            continue;
        }
        if (replica.gathers()) {
            return &replica;
        }
        if (best == nullptr || replica.load() < best->load()) {
            best = &replica;
        }
    }
    if (best == nullptr && free(primary_)) {
        best = &primary_;
    }
    return best;
}

void Nodes::read_now() noexcept {
    for (const auto& replica : replicas_) {
        replica->read_now();
    }
    primary_.read_now();
}

void Nodes::shut_down() noexcept {
    for (const auto& replica : replicas_) {
        replica->shut_down();
    }
    primary_.shut_down();
}

}  // namespace rate_limit
