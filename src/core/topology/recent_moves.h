#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

#include "core/limit/window.h"
#include "core/topology/topology.h"

namespace rate_limit {

/// The moves of single slots that nodes of a cluster have told in the last seconds. Each is newer than most
/// maps, and was told by the node that had the slot: a map from a node that is cut off from the others must
/// not undo it. Later maps know of it, so it is soon forgotten: what lasts is the map.
class RecentMoves {
public:
    /// How long a move is kept, in milliseconds.
    static constexpr Millis kept = 5000;

    /// Replaces an older move of the same slot. `now` as in forget(). Throws std::bad_alloc.
    void add(const Move& move, Millis now);

    /// Forgets those that are older than `kept`. True if there was one. If the clock has gone back, no move
    /// is kept for longer than after add().
    bool forget(Millis now) noexcept;

    bool empty() const noexcept { return said_.empty(); }

    /// Calls fn(const Move&) for each, the oldest first.
    template <typename Fn>
    void for_each(Fn&& fn) const {
        for (const Said& said : said_) {
            fn(said.move);
        }
    }

private:
    struct Said {
        Move move;
        Millis at;
    };

    std::list<Said> said_;  // in the order in which they were added
    std::unordered_map<std::uint16_t, std::list<Said>::iterator> by_slot_;
};

}  // namespace rate_limit
