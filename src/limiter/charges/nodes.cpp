#include "limiter/charges/nodes.h"

#include <algorithm>
#include <utility>

namespace rate_limit {

Nodes::Nodes(const StoreConf& store, const ShardConf& shard, Owner& owner, CommandSample& sample,
             Guide& guide)
    : store_(store),
      shard_(shard),
      owner_(owner),
      sample_(sample),
      guide_(guide),
      none_(store, &shard, {"(none is known)", {}, {}, 0, {}}, Role::primary, *this, &sample, &guide),
      replicas_(store.read_from),
      turn_(static_cast<std::size_t>(random_bits())) {  // workers start at different replicas
    store.topology != nullptr ? none_.stand_in() : none_.shut_down();
}

/// The node of this address, if it is among those.
std::unique_ptr<Node> Nodes::take(Owned& from, const NodeConf& conf) noexcept {
    for (std::unique_ptr<Node>& node : from) {
        if (node != nullptr && node->name() == conf.text) {
            return std::move(node);
        }
    }
    return nullptr;
}

/// Makes those nodes that the shard has not.
void Nodes::make(const NodeConf& conf, Role role, Owned& made) {
    const auto has = [&conf](const std::unique_ptr<Node>& node) { return node->name() == conf.text; };
    if (std::none_of(all_.begin(), all_.end(), has)) {
        made.push_back(std::make_unique<Node>(store_, &shard_, conf, role,
                                              static_cast<Node::Listener&>(*this), &sample_, &guide_));
    }
}

/// Moves the node of this address to all_, which has room for it, from one of those. Null: it has been moved
/// before.
Node* Nodes::place(const NodeConf& conf, Role role, Owned& before, Owned& made) noexcept {
    std::unique_ptr<Node> node = take(before, conf);
    if (node == nullptr) {
        node = take(made, conf);
    }
    if (node == nullptr) {
        return nullptr;
    }
    node->become(role);
    all_.push_back(std::move(node));
    return all_.back().get();
}

void Nodes::assign(const NodeConf* primary, const std::vector<NodeConf>& replicas,
                   const std::vector<NodeConf>& unfit) {
    Owned made;
    Owned all;
    Replicas readable(store_.read_from);
    std::vector<Node*> unfit_nodes;
    std::vector<NodeConf> unfit_ones(unfit);
    all.reserve(replicas.size() + unfit.size() + 1);
    readable.reserve(replicas.size());
    unfit_nodes.reserve(unfit.size());
    left_.reserve(all_.size());
    if (primary != nullptr) {
        make(*primary, Role::primary, made);
    }
    for (const NodeConf& replica : replicas) {
        make(replica, Role::replica, made);
    }
    // From here on nothing needs memory.
    Owned before = std::exchange(all_, std::move(all));
    replicas_ = std::move(readable);
    unfit_nodes_ = std::move(unfit_nodes);
    unfit_ = std::move(unfit_ones);
    const Node* const primary_before = std::exchange(primary_, &none_);
    if (primary != nullptr) {
        primary_ = place(*primary, Role::primary, before, made);
    }
    for (const NodeConf& replica : replicas) {
        Node* const node = place(replica, Role::replica, before, made);
        if (node != nullptr) {
            replicas_.add(*node);
        }
    }
    const auto have = [&](const NodeConf& replica) {
        Node* const node = place(replica, Role::replica, before, made);
        if (node != nullptr) {
            unfit_nodes_.push_back(node);
        }
        return node != nullptr;
    };
    unfit_.erase(std::remove_if(unfit_.begin(), unfit_.end(), have), unfit_.end());
    leave(before);
    if (primary_ != primary_before) {
        owner_.on_primary_changed();
    }
    hand_over([this](const Command& /*waiting*/) -> Node& { return *primary_; });
}

/// Retires the nodes that are left of these.
void Nodes::leave(Owned& before) noexcept {
    const std::size_t first = left_.size();
    for (std::unique_ptr<Node>& node : before) {
        if (node != nullptr) {
            left_.keep(std::move(node));
        }
    }
    left_.retire_from(first);  // commands that they give back find the shard as it is now
}

/// One that costs no write of its own takes no turn.
Node* Nodes::choose(const Node* const* asked, std::size_t count) noexcept {
    Node* const node = find(asked, count);
    turn_ += node != nullptr && node->gathers() ? 0 : 1;
    return node;
}

Node* Nodes::find(const Node* const* asked, std::size_t count) noexcept {
    Node* const node = replicas_.choose(turn_, asked, count);
    if (node != nullptr) {
        return node;
    }
    if (primary_->usable()) {
        return std::find(asked, asked + count, primary_) == asked + count ? primary_ : nullptr;
    }
    Node* const unfit = least_loaded(unfit_nodes_, Fitness::ready, turn_, asked, count);
    if (unfit != nullptr) {
        return unfit;
    }
    make_unfit();
    return least_loaded(unfit_nodes_, Fitness::usable, turn_, asked, count);
}

Node* Nodes::choose_despite_refusal(const Node* const* asked, std::size_t count) noexcept {
    Node* const best = replicas_.choose_despite_refusal(turn_, asked, count);
    return best != nullptr ? best : least_loaded(unfit_nodes_, Fitness::even_refusing, turn_, asked, count);
}

/// Without memory they are made when they are needed next.
void Nodes::make_unfit() noexcept {
    try {
        while (!unfit_.empty()) {
            all_.reserve(all_.size() + 1);
            unfit_nodes_.reserve(unfit_nodes_.size() + 1);
            Owned made;
            make(unfit_.back(), Role::replica, made);
            unfit_.pop_back();
            if (!made.empty()) {
                unfit_nodes_.push_back(made.back().get());
                all_.push_back(std::move(made.back()));
            }
        }
    } catch (...) {
    }
}

bool Nodes::keep_connections(Role role) noexcept {
    bool all = true;
    if (role == Role::primary) {
        return primary_ == &none_ || primary_->keep_connection();
    }
    replicas_.for_each([&all](Node& node) { all = node.keep_connection() && all; });
    return all;
}

/// An answer may name another primary, and so change the lists.
void Nodes::read_now() noexcept {
    std::size_t next = 0;
    while (next < all_.size()) {
        all_[next++]->read_now();
    }
    left_.for_each([](Node& node) { node.read_now(); });
}

void Nodes::on_usable(Node& node) noexcept {
    replicas_.find_near_again();
    if (&node == primary_) {
        owner_.on_primary_usable();
    }
}

void Nodes::on_unusable(Node& node) noexcept {
    replicas_.find_near_again();
    if (&node == primary_) {
        owner_.on_primary_unusable();
        guide_.doubt();
    }
}

void Nodes::on_second_line(Node& node) noexcept {
    if (&node == primary_) {
        owner_.on_second_line_of_primary();
    }
}

void Nodes::on_demoted(Node& node) noexcept {
    if (&node == primary_) {
        owner_.on_primary_demoted();
        guide_.doubt();
    }
}

/// Nobody knows whether an unfit replica lives, as long as nobody asks it.
void Nodes::call_roll() noexcept {
    for (const std::unique_ptr<Node>& node : all_) {
        const bool unfit =
            std::find(unfit_nodes_.begin(), unfit_nodes_.end(), node.get()) != unfit_nodes_.end();
        if (!unfit || !node->idle()) {
            node->call_roll();
        }
    }
}

void Nodes::shut_down() noexcept {
    unfit_.clear();  // commands that come back make no more nodes
    for (const std::unique_ptr<Node>& node : all_) {
        node->shut_down();
    }
    left_.for_each([](Node& node) { node.shut_down(); });
    none_.shut_down();
}

}  // namespace rate_limit
