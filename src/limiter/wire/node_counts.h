#pragma once

#include <cstddef>
#include <string_view>

#include "limiter/counters.h"
#include "redis/decode.h"

namespace rate_limit {

/// Errors of a node.
enum class NodeError : unsigned char {
    connection,  ///< lost, or could not be made
    silent,      ///< no answer in check_timeout
    answer,      ///< from here on by what is wrong with an answer, in the order of Fault
};
constexpr std::size_t node_error_count = static_cast<std::size_t>(NodeError::answer) + fault_count;

/// The name under which nodes of one shard are counted together that have no counters of their own: other
/// servers name them, and the zone has no room for them.
inline constexpr std::string_view any_node = "*";

/// Counts of a node: each NodeError by its number, and beside them:
enum class NodeCount : unsigned char {
    commands = node_error_count,  ///< that callers had sent to it, for each an answer was awaited
};

template <>
struct CountersOf<NodeCount> {
    static constexpr std::string_view name = "nodes";
    static constexpr std::size_t count = static_cast<std::size_t>(NodeCount::commands) + 1;
};

constexpr NodeCount count_of(NodeError error) noexcept {
    return static_cast<NodeCount>(error);
}

constexpr NodeError error_of(Fault fault) noexcept {
    return static_cast<NodeError>(static_cast<std::size_t>(NodeError::answer) +
                                  static_cast<std::size_t>(fault));
}

/// How logs call it: "connection", "silent", or as to_string(Fault).
inline std::string_view to_string(NodeError error) noexcept {
    if (error < NodeError::answer) {
        return error == NodeError::connection ? "connection" : "silent";
    }
    return to_string(
        static_cast<Fault>(static_cast<std::size_t>(error) - static_cast<std::size_t>(NodeError::answer)));
}

}  // namespace rate_limit
