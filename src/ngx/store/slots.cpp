#include <algorithm>
#include <utility>

#include "core/topology/succession.h"
#include "ngx/store/store.h"
#include "redis/redirect.h"

// The shards of a cluster: one for each group of nodes that serves slots, as long as it does. The first one
// has no nodes ever: it is where slots are that nobody serves.

namespace rate_limit {

namespace {

/// Charges, and tokens that are being fetched, stay with a shard; so of all shards one goes on as the group
/// that follows its own.
bool is_free(const Group& group) {
    return group.primary.port == 0 && group.slots.empty();
}

bool same_nodes(const Group& one, const Group& other) {
    return one.primary == other.primary && one.replicas == other.replicas;
}

}  // namespace

/// A shard of a group that there is no more, or a new one. Never the first.
std::size_t Store::free_group() {
    for (std::size_t i = 1; i < groups_.size(); ++i) {
        if (is_free(groups_[i])) {
            return i;
        }
    }
    groups_.reserve(groups_.size() + 1);
    add_shard(conf_.shards.front());
    groups_.emplace_back();
    return groups_.size() - 1;
}

/// The cluster is as this map says.
void Store::regroup(const Topology& topology) {
    const std::vector<std::size_t> from = predecessors(groups_, topology.groups);
    std::vector<Group> before = std::exchange(groups_, std::vector<Group>(groups_.size()));
    std::vector<std::size_t> shard_of(topology.groups.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (from[i] != no_group) {
            shard_of[i] = from[i];
            groups_[from[i]] = topology.groups[i];
        }
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (from[i] == no_group) {
            shard_of[i] = free_group();
            groups_[shard_of[i]] = topology.groups[i];
        }
    }
    std::fill(by_route_.begin(), by_route_.end(), shards_.front().get());
    for (std::size_t i = 0; i < from.size(); ++i) {
        for (const SlotRange& range : topology.groups[i].slots) {
            std::fill(by_route_.begin() + range.first, by_route_.begin() + range.last + 1,
                      shards_[shard_of[i]].get());
        }
    }
    // Last, for what comes back from nodes that go asks for its slot's shard.
    for (std::size_t i = 1; i < groups_.size(); ++i) {
        if (i >= before.size() || !same_nodes(groups_[i], before[i])) {
            shards_[i]->assign(groups_[i]);
        }
    }
}

/// The shard whose primary is there. If that is a replica of a shard, it has taken the place of its primary;
/// if nobody knows it, it gets a shard of its own, until the next map says more.
Shard& Store::shard_with(const Endpoint& primary) {
    for (std::size_t i = 1; i < groups_.size(); ++i) {
        if (groups_[i].primary == primary) {
            return *shards_[i];
        }
    }
    for (std::size_t i = 1; i < groups_.size(); ++i) {
        std::vector<Endpoint>& replicas = groups_[i].replicas;
        const auto found = std::find(replicas.begin(), replicas.end(), primary);
        if (found != replicas.end()) {
            replicas.erase(found);
            groups_[i].primary = primary;
            shards_[i]->assign(groups_[i]);
            return *shards_[i];
        }
    }
    const std::size_t added = free_group();
    groups_[added].primary = primary;
    shards_[added]->assign(groups_[added]);
    return *shards_[added];
}

/// One place for all commands: a node says that another one serves the slot.
bool Store::on_redirect(Node& node, Command& command, const Reply& reply) noexcept {
    try {
        Redirect redirect;
        if (!read_redirect(reply.text_view(), node.endpoint(), redirect)) {
            const Fault fault = fault_of(reply);
            if (is_of_slot(fault) || fault == Fault::readonly) {
                on_doubt();
            }
            return false;
        }
        const bool asks = redirect.kind == Redirect::Kind::ask;
        Shard& shard = shard_with(redirect.to);
        if (!asks) {
            by_route_[redirect.slot] = &shard;
            on_doubt();
        }
        return shard.nodes().primary().follow(command, asks);
    } catch (...) {
        return false;  // without memory: it is an answer like any other
    }
}

}  // namespace rate_limit
