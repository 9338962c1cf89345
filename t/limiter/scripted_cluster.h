#pragma once

#include <optional>
#include <string>
#include <vector>

#include "redis/keys/routes.h"
#include "t/world/scripted.h"

namespace rate_limit::world {

/// A node as CLUSTER SLOTS names it. Redis sends 40 digits as its id.
struct MapNode {
    std::optional<std::string> host;
    std::int64_t port = 0;
};

inline MapNode node_at(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    return {address.substr(0, colon), std::stoll(address.substr(colon + 1))};
}

/// Hash slots from the first to the last, and who has them: the primary, then its replicas.
struct MapRange {
    std::int64_t first;
    std::int64_t last;
    std::vector<MapNode> nodes;
};

/// The answer to CLUSTER SLOTS.
inline std::string cluster_slots(const std::vector<MapRange>& ranges) {
    std::vector<std::string> all;
    for (const MapRange& range : ranges) {
        std::vector<std::string> items = {integer(range.first), integer(range.last)};
        for (const MapNode& node : range.nodes) {
            std::string id = std::to_string(node.port);
            id.insert(0, 40 - id.size(), '0');
            items.push_back(array({node.host ? bulk(*node.host) : nil(), integer(node.port), bulk(id)}));
        }
        all.push_back(array(items));
    }
    return array(all);
}

constexpr std::int64_t last_slot = 16'383;

/// The map of a cluster whose slots one primary has all, with these replicas.
inline std::string one_primary(const std::string& primary, const std::vector<std::string>& replicas = {}) {
    std::vector<MapNode> nodes = {node_at(primary)};
    for (const std::string& replica : replicas) {
        nodes.push_back(node_at(replica));
    }
    return cluster_slots({{0, last_slot, nodes}});
}

/// The hash slot of a command about a window; empty: it is about none.
inline std::optional<std::int64_t> slot_of(const Command& words) {
    if (words[0] != "hmget" && !is_write(words)) {
        return {};
    }
    return key_slot(words[words[0] == "eval" || words[0] == "evalsha" ? 3 : 1]);
}

inline std::string moved(std::int64_t slot, const std::string& to) {
    return error("MOVED " + std::to_string(slot) + ' ' + to);
}

inline std::string ask(std::int64_t slot, const std::string& to) {
    return error("ASK " + std::to_string(slot) + ' ' + to);
}

/// The answer of a cluster's node about slots of its own: no window, or what was asked is taken.
inline ScriptedReply serve(const Command& words, Millis reset) {
    return words[0] == "hmget"     ? hmget({}, {})
           : words[0] == "hincrby" ? integer(5)
           : !is_write(words)      ? fallback(words)
           : words.size() < 9      ? integers({1, reset})
           : words.size() < 10     ? integers({1, reset, 0})
                                   : integers({1, 1, reset});
}

/// How many of the commands have this in a word.
inline std::size_t count_with(const std::vector<Command>& commands, const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(commands.begin(), commands.end(), [&text](const Command& words) {
            return std::any_of(words.begin(), words.end(), [&text](const std::string& word) {
                return word.find(text) != std::string::npos;
            });
        }));
}

}  // namespace rate_limit::world
