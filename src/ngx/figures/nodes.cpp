#include "ngx/figures/nodes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ngx/base/zone.h"
#include "ngx/wire/board_entry.h"

namespace rate_limit {

namespace {

using Type = MetricsText::Type;

/// Workers that the configuration has: what others said before they ended does not count.
std::size_t running_workers() noexcept {
    const auto* core =
        reinterpret_cast<const ngx_core_conf_t*>(ngx_get_conf(ngx_cycle->conf_ctx, ngx_core_module));
    return static_cast<std::size_t>(std::max<ngx_int_t>(core->worker_processes, 1));
}

Counters<NodeCount> counters_of(const StoreConf& store, const ShardConf& shard, std::string_view node) {
    return {store.zone->counters(), {store.name, shard.name, node}};
}

/// Nobody has said anything of a node that no worker has used yet.
NodeBoard::Told told_of(const StoreConf& store, const ShardConf& shard, const NodeConf& conf, bool primary) {
    const NodeBoard& board = store.zone->nodes();
    const NodeBoard::Identity identity = node_identity({store.name, shard.name, conf.text});
    NodeBoard::Told told;
    if (!board.read(board.find(identity), identity, running_workers(), now_millis(), told)) {
        told = {};
        told.since = store.zone->counters().since();
    }
    told.address = conf.text;
    told.primary = primary;
    return told;
}

void add_learned(const StoreConf& store, const ShardConf& shard, std::vector<NodeFigures>& nodes) {
    const std::size_t before = nodes.size();
    const auto add = [&](const NodeBoard::Told& told) {
        if (!told.gone) {
            nodes.push_back({told, &store, &shard, counters_of(store, shard, told.address)});
        }
    };
    store.zone->nodes().for_each_of(node_identity({store.name, shard.name, {}}), running_workers(),
                                    now_millis(), add);
    std::sort(nodes.begin() + static_cast<std::ptrdiff_t>(before), nodes.end(),
              [](const NodeFigures& a, const NodeFigures& b) { return a.node.address < b.node.address; });
}

void add_nodes(const StoreConf& store, const ShardConf& shard, std::vector<NodeFigures>& nodes) {
    if (shard.discovered()) {
        add_learned(store, shard, nodes);
        return;
    }
    const auto add = [&](const NodeConf& conf, bool primary) {
        nodes.push_back(
            {told_of(store, shard, conf, primary), &store, &shard, counters_of(store, shard, conf.text)});
    };
    add(shard.primary, true);
    for (const NodeConf& replica : shard.replicas) {
        add(replica, false);
    }
}

/// Those that are counted together, one for each shard that has such.
void add_others(const MainConf& main, std::vector<NodeFigures>& counted) {
    for (const StoreConf* store : Elements<StoreConf*>(main.stores)) {
        for (const ShardConf& shard : store->shards) {
            if (store->used && shard.discovered()) {
                NodeFigures others{{}, store, &shard, counters_of(*store, shard, any_node)};
                others.node.address = any_node;
                counted.push_back(std::move(others));
            }
        }
    }
}

}  // namespace

std::vector<NodeFigures> nodes_of(const StoreConf& store, const ShardConf& shard) {
    std::vector<NodeFigures> nodes;
    add_nodes(store, shard, nodes);
    return nodes;
}

void write_nodes(JsonText& json, const StoreConf& store, const ShardConf& shard) {
    const std::vector<NodeFigures> nodes = nodes_of(store, shard);
    json.name("nodes").begin_array();
    for (const NodeFigures& each : nodes) {
        json.begin_object();
        json.name("address").text(each.node.address);
        json.name("role").text(each.node.primary ? "primary" : "replica");
        json.name("up").boolean(each.node.up);
        json.name("since").time(each.node.since);
        json.name("commands").count(each.count(NodeCount::commands));
        json.name("errors").begin_object();
        for_each_node_error(
            [&](NodeError error) { json.name(to_string(error)).count(each.count(count_of(error))); });
        json.end_object();
        json.end_object();
    }
    json.end_array();
}

void write_node_metrics(MetricsText& text, const MainConf& main) {
    std::vector<NodeFigures> nodes;
    for (const StoreConf* store : Elements<StoreConf*>(main.stores)) {
        for (const ShardConf& shard : store->shards) {
            if (store->used) {
                add_nodes(*store, shard, nodes);
            }
        }
    }
    const auto write = [&text](const NodeFigures& each, std::uint64_t value) {
        text.sample({{"store", each.store->name}, {"shard", each.shard->name}, {"node", each.node.address}},
                    value);
    };
    text.family("node_up", Type::gauge, "0: a worker holds the node for down.");
    for (const NodeFigures& each : nodes) {
        write(each, each.node.up ? 1 : 0);
    }
    text.family("node_role", Type::gauge, "1: the node is a primary; 0: it is a replica.");
    for (const NodeFigures& each : nodes) {
        write(each, each.node.primary ? 1 : 0);
    }
    add_others(main, nodes);
    text.family("node_commands_total", Type::counter, "Commands that requests and charges sent to the node.");
    for (const NodeFigures& each : nodes) {
        write(each, each.count(NodeCount::commands));
    }
    text.family("node_errors_total", Type::counter, "What went wrong with a node.");
    for (const NodeFigures& each : nodes) {
        for_each_node_error([&](NodeError error) {
            text.sample({{"store", each.store->name},
                         {"shard", each.shard->name},
                         {"node", each.node.address},
                         {"kind", to_string(error)}},
                        each.count(count_of(error)));
        });
    }
}

}  // namespace rate_limit
