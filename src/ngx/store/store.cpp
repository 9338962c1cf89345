#include "ngx/store/store.h"

#include <algorithm>

namespace rate_limit {

Shard::Shard(Store& store, const StoreConf& conf, const ShardConf& shard)
    : store_(store),
      name_(shard.name),
      digest_(shard_digest(conf.name, shard.name)),
      primary_(conf, shard.primary, shard.name, true, *this),
      turn_(static_cast<std::size_t>(ngx_random())),  // workers start at different replicas
      charges_(conf, shard.name, primary_, store.report()),
      fetches_(*this) {
    Node::Listener& listener = *this;
    for (const NodeConf& replica : shard.replicas) {
        replicas_.push_back(std::make_unique<Node>(conf, replica, shard.name, false, listener));
    }
}

Shard::~Shard() {
    shut_down();
}

Node* Shard::choose(const Node* const* asked, std::size_t count, bool of_primary) noexcept {
    const Node* const* const end = asked + count;
    const auto free = [asked, end](const Node& node) {
        return node.usable() && std::find(asked, end, &node) == end;
    };
    Node* best = nullptr;
    ++turn_;
    for (std::size_t i = 0; !of_primary && i < replicas_.size(); ++i) {
        Node& replica = *replicas_[(turn_ + i) % replicas_.size()];
        if (free(replica) && (best == nullptr || replica.load() < best->load())) {
            best = &replica;
        }
    }
    if (best == nullptr && free(primary_) && (!of_primary || primary_.takes_writes())) {
        best = &primary_;
    }
    return best;
}

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
    store_.report().changed();
}

void Shard::shut_down() noexcept {
    for (const auto& replica : replicas_) {
        replica->shut_down();
    }
    primary_.shut_down();
}

void Shard::read_now() noexcept {
    for (const auto& replica : replicas_) {
        replica->read_now();
    }
    primary_.read_now();
}

Store::Store(const StoreConf& conf) : conf_(conf), deadlines_(conf.check_timeout, *this), report_(*this) {
    for (const ShardConf& shard : conf.shards) {
        shards_.push_back(std::make_unique<Shard>(*this, conf, shard));
        if (conf.eviction_warned != nullptr) {
            shards_.back()->set_eviction_flag(conf.eviction_warned + shards_.size() - 1);
        }
    }
}

Store::~Store() {
    shut_down();
}

void Store::read_now() noexcept {
    for (const auto& shard : shards_) {
        shard->read_now();
    }
}

void Store::shut_down() noexcept {
    if (ended_) {
        return;
    }
    ended_ = true;
    for (const auto& shard : shards_) {
        shard->shut_down();
        shard->charges().log_lost();
    }
}

}  // namespace rate_limit
