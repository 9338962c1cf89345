#include "t/world/cluster.h"

#include <algorithm>
#include <utility>

#include "redis/keys/routes.h"

namespace rate_limit::world {

namespace {

ClusterNode node_of(const Redis& server) {
    const std::string& address = server.address();
    const std::size_t colon = address.rfind(':');
    return {address, address.substr(0, colon),
            static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)))};
}

}  // namespace

Cluster::Cluster(std::vector<ReplicaSet*> sets, std::size_t owners) : sets_(std::move(sets)) {
    for (std::size_t slot = 0; slot < owners_.size(); ++slot) {
        owners_[slot] = static_cast<std::uint8_t>(slot * owners / owners_.size());
    }
    tell_all();
}

/// Nodes that do not answer are left out, as Redis leaves them out.
std::shared_ptr<const ClusterMap> Cluster::map() {
    ClusterMap made;
    for (std::size_t i = 0; i < sets_.size(); ++i) {
        ClusterGroup group{{}, node_of(sets_[i]->primary()), {}};
        for (std::size_t slot = 0; slot < owners_.size(); ++slot) {
            if (owners_[slot] == i) {
                const auto number = static_cast<std::uint16_t>(slot);
                if (group.slots.empty() || group.slots.back().second + 1 != number) {
                    group.slots.emplace_back(number, number);
                }
                group.slots.back().second = number;
            }
        }
        for (Redis* member : sets_[i]->members()) {
            if (member != &sets_[i]->primary() && member->runs() && sets_[i]->follows(*member)) {
                group.replicas.push_back(node_of(*member));
            }
        }
        if (!group.slots.empty()) {
            made.push_back(std::move(group));
        }
    }
    return std::make_shared<const ClusterMap>(std::move(made));
}

bool Cluster::moves(std::uint16_t slot) const noexcept {
    return move_ && slot >= move_->slots.first && slot <= move_->slots.last;
}

void Cluster::tell(Redis& node) {
    ReplicaSet& set =
        **std::find_if(sets_.begin(), sets_.end(), [&node](ReplicaSet* each) { return each->has(node); });
    const bool is_primary = &set.primary() == &node;
    if (!is_primary && !set.follows(node)) {
        set.follow(node, false);
    }
    ClusterView view{node.address(), map()};
    const bool gives = is_primary && move_ && move_->from == &set;
    const bool takes = is_primary && move_ && move_->to == &set;
    for (unsigned slot = 0; (gives || takes) && slot < slot_count; ++slot) {
        const auto number = static_cast<std::uint16_t>(slot);
        if (moves(number) && &owner_of(number) == move_->from) {
            const Redis& other = gives ? move_->to->primary() : move_->from->primary();
            (gives ? view.migrating : view.importing).emplace(number, node_of(other));
        }
    }
    node.server().state.cluster = std::move(view);
    if (is_primary) {
        node.server().drop([&](const std::string& key) {
            const std::uint16_t slot = key_slot(key);
            return &owner_of(slot) != &set && !(takes && moves(slot));
        });
    }
}

void Cluster::tell_all() {
    for (ReplicaSet* set : sets_) {
        for (Redis* member : set->members()) {
            tell(*member);
        }
    }
}

void Cluster::cut_off(Redis& node) {
    node.server().state.cluster->down = true;
}

bool Cluster::is_told_of(const Redis& server) const {
    const auto names = [&server](const ClusterGroup& group) { return group.primary.id == server.address(); };
    const auto tells = [&names](Redis* node) {
        const ClusterMap& map = *node->server().state.cluster->map;
        return std::any_of(map.begin(), map.end(), names);
    };
    return std::any_of(sets_.begin(), sets_.end(), [&tells](const ReplicaSet* set) {
        return std::any_of(set->members().begin(), set->members().end(), tells);
    });
}

void Cluster::promote(ReplicaSet& set, Redis& next) {
    set.promote(next);
    tell(next);
}

void Cluster::hand_over(ReplicaSet& set, Redis& next) {
    Redis& former = set.primary();
    set.replication_to(next)->catch_up();
    promote(set, next);
    tell(former);
}

void Cluster::begin_move(const SlotMove& move) {
    move_ = move;
    tell(move.to->primary());
    tell(move.from->primary());
}

bool Cluster::move_keys(std::size_t most) {
    Redis& from = move_->from->primary();
    Redis& to = move_->to->primary();
    if (!from.runs() || !to.runs()) {
        return false;
    }
    for (const std::string& key : from.server().snapshot().front().names()) {
        const std::uint16_t slot = key_slot(key);
        if (!moves(slot) || &owner_of(slot) != move_->from) {
            continue;
        }
        if (most-- == 0) {
            return false;
        }
        const std::optional<Value> value = from.server().take(key);
        if (value) {
            to.server().put(key, *value);
        }
    }
    return true;
}

void Cluster::end_move() {
    const auto from = std::find(sets_.begin(), sets_.end(), move_->from);
    const auto to = std::find(sets_.begin(), sets_.end(), move_->to);
    for (unsigned slot = move_->slots.first; slot <= move_->slots.last; ++slot) {
        if (owners_[slot] == from - sets_.begin()) {
            owners_[slot] = static_cast<std::uint8_t>(to - sets_.begin());
        }
    }
    Redis& owner = move_->to->primary();
    move_.reset();
    tell(owner);
}

}  // namespace rate_limit::world
