#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/counts/node_board.h"
#include "limiter/counters.h"
#include "limiter/loop.h"
#include "redis/decode.h"

namespace rate_limit {

class Zone;

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

/// How the zone calls the node of this subject, or the shard if it names no node.
NodeBoard::Identity node_identity(const Subject& subject) noexcept;

/// The number of this worker as the zone has it.
inline std::size_t worker_number() noexcept {
    return number_of_worker() % NodeBoard::most_workers;
}

/// One node as this worker tells all of it: what it is and whether it is up, and what is counted of it. A
/// worker that leaves tells no more, and counts on.
class BoardEntry {
public:
    enum class Kind : unsigned char {
        configured,  ///< it has counters by its configuration
        learned,     ///< it is given counters where there is room, or is counted as any_node
        unlisted,    ///< it is no node of a shard: it is counted, and not on the board
    };

    /// The zone and the texts of `subject` outlive this. The worker takes the node for up.
    BoardEntry(Zone& zone, const Subject& subject, Kind kind, bool primary) noexcept;

    void count(NodeError error) noexcept { counters_.add(count_of(error)); }
    void count_command() noexcept { counters_.add(NodeCount::commands); }

    void set_primary(bool primary) noexcept;
    void set_up(bool up) noexcept;

    /// The node is still in use; its answers take that many microseconds, as far as that is known. To be
    /// called about once a second: what others have written over is put right, and a node for which there was
    /// no room gets it when there is some.
    void call(bool primary, bool up, std::optional<std::uint64_t> answer_time) noexcept;

    bool has_place() const noexcept { return place_ != NodeBoard::none; }

private:
    bool speaks() const noexcept { return kind_ != Kind::unlisted && !is_leaving(); }
    void enter() noexcept;
    bool count_by_itself(const NodeBoard::Noted& noted) noexcept;
    bool is_by_itself() const noexcept { return kind_ == Kind::learned && counted_.node == subject_.node; }

    Zone& zone_;
    const Subject subject_;
    const Kind kind_;
    const NodeBoard::Identity identity_;
    Subject counted_;  // whose counters they are
    Counters<NodeCount> counters_;
    std::size_t place_ = NodeBoard::none;
    Msec tried_ = 0;  // when a place was last asked for
};

}  // namespace rate_limit
