#pragma once

#include <cstddef>
#include <cstdint>

#include "core/counts/node_board.h"
#include "limiter/counters.h"
#include "limiter/loop.h"
#include "limiter/wire/node_counts.h"

namespace rate_limit {

class Zone;

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

    /// The node is still in use. To be called about once a second: what others have written over is put
    /// right, and a node for which there was no room gets it when there is some.
    void call(bool primary, bool up) noexcept;

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
