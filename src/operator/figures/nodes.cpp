#include "operator/figures/nodes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "limiter/wire/board_entry.h"
#include "limiter/zone.h"
#include "operator/serving.h"

namespace rate_limit {

namespace {

using Type = MetricsText::Type;

/// Workers that the configuration has: what others said before they ended does not count.
std::size_t running_workers() noexcept {
    return static_cast<std::size_t>(std::max<std::int64_t>(serving().workers, 1));
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
        told.since = store.zone->since();
    }
    told.address = conf.text;
    told.primary = primary;
    return told;
}

void add_learned(const StoreConf& store, const ShardConf& shard, std::vector<NodeFigures>& nodes) {
    const std::size_t before = nodes.size();
    const auto add = [&](const NodeBoard::Told& told) {
        if (!told.gone) {
            nodes.push_back({told, store.name, shard.name, counters_of(store, shard, told.address)});
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
        nodes.push_back({told_of(store, shard, conf, primary), store.name, shard.name,
                         counters_of(store, shard, conf.text)});
    };
    add(shard.primary, true);
    for (const NodeConf& replica : shard.replicas) {
        add(replica, false);
    }
}

NodeFigures any_node_of(const Subject& shard, const Counters<NodeCount>& counters) {
    NodeFigures others{{}, shard.store, shard.shard, counters};
    others.node.address = any_node;
    return others;
}

void write_sample(MetricsText& text, const NodeFigures& each, std::uint64_t value) {
    text.sample({{"store", each.store}, {"shard", each.shard}, {"node", each.node.address}}, value);
}

void write_errors(MetricsText& text, const NodeFigures& each) {
    for_each_node_error([&](NodeError error) {
        text.sample({{"store", each.store},
                     {"shard", each.shard},
                     {"node", each.node.address},
                     {"kind", to_string(error)}},
                    each.count(count_of(error)));
    });
}

}  // namespace

std::vector<NodeFigures> nodes_of(const StoreConf& store, const ShardConf& shard) {
    std::vector<NodeFigures> nodes;
    add_nodes(store, shard, nodes);
    return nodes;
}

/// A node that other servers name and that has no counters counts as the node `*` of its shard.
void ToldNodes::add(const StoreConf& store, const ShardConf& shard) {
    const std::size_t before = nodes_.size();
    add_nodes(store, shard, nodes_);
    if (shard.discovered()) {
        others_.push_back(any_node_of({store.name, shard.name, {}}, counters_of(store, shard, any_node)));
        all_whole_ = all_whole_ && others_.back().counters.is_whole();
        return;
    }
    all_whole_ = all_whole_ && std::all_of(nodes_.begin() + static_cast<std::ptrdiff_t>(before), nodes_.end(),
                                           [](const auto& node) { return node.counters.is_whole(); });
}

void ToldNodes::add_others(Zone& zone) {
    if (!all_whole_) {
        const Subject others = Counters<NodeCount>::others();
        others_.push_back(any_node_of(others, {zone.counters(), others}));
    }
    nodes_.insert(nodes_.end(), others_.begin(), others_.end());
}

void write_node(JsonText& json, const NodeFigures& node) {
    json.begin_object();
    json.name("address").text(node.node.address);
    json.name("role").text(node.node.primary ? "primary" : "replica");
    json.name("up").boolean(node.node.up);
    json.name("since").time(node.node.since);
    json.name("commands").count(node.count(NodeCount::commands));
    json.name("errors").begin_object();
    for_each_node_error(
        [&](NodeError error) { json.name(to_string(error)).count(node.count(count_of(error))); });
    json.end_object();
    json.end_object();
}

constexpr std::array<Family<NodeFigures>, 2> node_families = {{
    {[](MetricsText& text) { text.family("node_up", Type::gauge, "0: a worker holds the node for down."); },
     [](MetricsText& text, const NodeFigures& each) { write_sample(text, each, each.node.up ? 1 : 0); }},
    {[](MetricsText& text) {
         text.family("node_role", Type::gauge, "1: the node is a primary; 0: it is a replica.");
     },
     [](MetricsText& text, const NodeFigures& each) { write_sample(text, each, each.node.primary ? 1 : 0); }},
}};

constexpr std::array<Family<NodeFigures>, 2> node_count_families = {{
    {[](MetricsText& text) {
         text.family("node_commands_total", Type::counter,
                     "Commands that requests and charges sent to the node.");
     },
     [](MetricsText& text, const NodeFigures& each) {
         write_sample(text, each, each.count(NodeCount::commands));
     }},
    {[](MetricsText& text) {
         text.family("node_errors_total", Type::counter, "What went wrong with a node.");
     },
     write_errors},
}};

}  // namespace rate_limit
