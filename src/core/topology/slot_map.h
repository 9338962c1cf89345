#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

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

/// Which nodes serve each slot of a cluster, by the last map and the moves since. A group of nodes has a
/// number, from 1 on, that stays with it, and goes over to the group that follows it: see predecessors(). So
/// what belongs to a number finds the nodes that serve it now. Number 0 is nobody: it has no nodes ever.
class SlotMap {
public:
    using Number = std::uint16_t;

    /// Groups that no topology has named: nodes that answer with ever new endpoints fill no memory.
    static constexpr std::size_t most_strangers = 64;

    SlotMap();

    Number owner(std::uint16_t slot) const noexcept { return owners_[slot]; }

    /// Numbers are below size(). A group that is gone has no nodes and no slots, until its number is given to
    /// another one.
    const Group& group(Number number) const noexcept { return groups_[number]; }
    std::size_t size() const noexcept { return groups_.size(); }

    /// The cluster is as this topology says, but for moves that are newer. Throws std::bad_alloc: the map is
    /// what it was.
    void take(const Topology& topology, const RecentMoves& moves);

    /// Another group serves the slot: see make_primary(); unless there is no room for it. Throws
    /// std::bad_alloc: the map is what it was.
    void move(const Move& move);

    /// The group of this primary; 0: none.
    Number find(const Endpoint& primary) const noexcept;

    /// Whether it is a replica in a group, or was its primary before a move.
    bool names(const Endpoint& node) const noexcept;

    /// The group of this primary, from now on. If the endpoint is a replica, it has taken the place of its
    /// primary, in all slots; and may give it back. If nobody knows it, it gets a group of its own, until the
    /// next topology says more; 0: there are most_strangers of those. Throws std::bad_alloc: the map is what
    /// it was.
    Number make_primary(const Endpoint& primary);

    /// In which parts of the slots, of 1,024 each, the group may have some: bit n for part n. Of number 0,
    /// any.
    std::uint16_t parts(Number number) const noexcept { return parts_[number]; }

    /// Numbers whose nodes are not those that they had when their change was taken last.
    const std::vector<Number>& changed() const noexcept { return changed_; }

    /// Takes the last of them: a worker that uses that number learns its nodes now, or puts it back.
    Number take_changed() noexcept {
        const Number number = changed_.back();
        changed_.pop_back();
        return number;
    }
    void put_back(Number number) { changed_.push_back(number); }

private:
    void give(const SlotRange& slots, Number number) noexcept;

    std::array<Number, slot_count> owners_{};
    std::vector<Group> groups_;
    std::vector<Endpoint> formers_;  // same indexes: the primary whose place a move has given to another node
    std::vector<std::uint16_t> parts_;  // same indexes
    std::vector<Number> changed_;
    std::size_t named_ = 1;  // groups of the last topology, and number 0
};

}  // namespace rate_limit
