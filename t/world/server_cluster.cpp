#include <algorithm>
#include <string>

#include "redis/keys/routes.h"
#include "t/world/server.h"

namespace rate_limit::world {
namespace {

struct Owned {
    std::uint16_t first;
    std::uint16_t last;
    const ClusterGroup* group;
};

const ClusterGroup* owner_of(const ClusterView& view, std::uint16_t slot) noexcept {
    for (const ClusterGroup& group : *view.map) {
        for (const auto& [first, last] : group.slots) {
            if (slot >= first && slot <= last) {
                return &group;
            }
        }
    }
    return nullptr;
}

bool is_replica_of(const ClusterView& view, const ClusterGroup& group) noexcept {
    return std::any_of(group.replicas.begin(), group.replicas.end(),
                       [&view](const ClusterNode& node) { return node.id == view.me; });
}

std::string to_node(const char* word, std::uint16_t slot, const ClusterNode& node) {
    return std::string(word) + ' ' + std::to_string(slot) + ' ' + node.host + ':' + std::to_string(node.port);
}

void answer_node(ServerReply& reply, const ClusterNode& node) {
    reply.array(4);
    reply.bulk(node.host);
    reply.integer(node.port);
    reply.bulk(node.id);
    reply.array(0);
}

constexpr const char* try_again = "TRYAGAIN Multiple keys request during rehashing of slot";

/// The error by which a slot's owner or its taker sends a client elsewhere. `found` of `count` keys are here.
std::string redirect_slot(const ClusterView& view, const Client& client, const ServerCommand& command,
                          std::uint16_t slot, std::size_t found, std::size_t count) {
    const ClusterGroup* owner = owner_of(view, slot);
    if (owner == nullptr) {
        return "CLUSTERDOWN Hash slot not served";
    }
    const bool is_mine = owner->primary.id == view.me;
    if (view.down && !view.reads_when_down) {
        return "CLUSTERDOWN The cluster is down";
    }
    if (view.down && command.is(ServerCommand::writes)) {
        return "CLUSTERDOWN The cluster is down and only accepts read commands";
    }
    if (view.unstable.count(slot) != 0) {
        return try_again;
    }
    const auto target = view.migrating.find(slot);
    if (is_mine && target != view.migrating.end() && found < count) {
        return found > 0 ? try_again : to_node("ASK", slot, target->second);
    }
    if (client.asking && !is_mine && view.importing.count(slot) != 0) {
        return count > 1 && found < count ? try_again : "";
    }
    const bool may_read =
        client.readonly && !command.is(ServerCommand::writes) && is_replica_of(view, *owner);
    return is_mine || may_read ? "" : to_node("MOVED", slot, owner->primary);
}

}  // namespace

std::string redirect(Server& server, const Client& client, const ServerCommand& command, Words keys) {
    const ClusterView& view = *server.state.cluster;
    const std::uint16_t slot = key_slot(keys[0]);
    const bool moves = view.migrating.count(slot) != 0 || view.importing.count(slot) != 0;
    std::size_t found = 0;
    for (const std::string_view key : keys) {
        if (key_slot(key) != slot) {
            return "CROSSSLOT Keys in request don't hash to the same slot";
        }
        found += moves && server.find(client, key) != nullptr ? 1 : 0;
    }
    return redirect_slot(view, client, command, slot, found, keys.size());
}

void run_asking(Call& call) {
    if (!call.server.state.cluster) {
        call.reply.error("ERR This instance has cluster support disabled");
        return;
    }
    call.client.asking = true;
    call.reply.status("OK");
}

void run_cluster_slots(Call& call) {
    const auto& view = call.server.state.cluster;
    if (!view) {
        call.reply.error("ERR This instance has cluster support disabled");
        return;
    }
    std::vector<Owned> all;
    for (const ClusterGroup& group : *view->map) {
        for (const auto& [first, last] : group.slots) {
            all.push_back({first, last, &group});
        }
    }
    std::sort(all.begin(), all.end(),
              [](const Owned& one, const Owned& other) { return one.first < other.first; });
    call.reply.array(all.size());
    for (const Owned& owned : all) {
        call.reply.array(3 + owned.group->replicas.size());
        call.reply.integer(owned.first);
        call.reply.integer(owned.last);
        answer_node(call.reply, owned.group->primary);
        for (const ClusterNode& replica : owned.group->replicas) {
            answer_node(call.reply, replica);
        }
    }
}

}  // namespace rate_limit::world
