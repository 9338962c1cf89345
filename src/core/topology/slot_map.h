#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/topology/recent_moves.h"
#include "core/topology/topology.h"

namespace rate_limit {

/// Which nodes serve each slot of a cluster, by the last map and the moves since. A group of nodes has a
/// number, from 1 on, that stays with it, and goes over to the group that follows it: see predecessors(). So
/// what belongs to a number finds the nodes that serve it now. Number 0 is nobody: it has no nodes ever.
class SlotMap {
public:
    using Number = std::uint16_t;

    SlotMap();

    Number owner(std::uint16_t slot) const noexcept { return owners_[slot]; }

    /// Numbers are below size(). A group that is gone has no nodes and no slots, until its number is given to
    /// another one.
    const Group& group(Number number) const noexcept { return groups_[number]; }
    std::size_t size() const noexcept { return groups_.size(); }

    /// The cluster is as this topology says, but for moves that are newer. Throws std::bad_alloc: the map is
    /// what it was.
    void take(const Topology& topology, const RecentMoves& moves);

    /// Another group serves the slot. If the endpoint is a replica, it has taken the place of its primary,
    /// in all slots; if nobody knows it, it gets a group of its own, until the next topology says more.
    /// Throws std::bad_alloc: the map is what it was.
    void move(std::uint16_t slot, const Endpoint& to);

    /// The group of this primary, found or made as by move(). Throws std::bad_alloc, and std::length_error
    /// where there are too many groups.
    Number group_of(const Endpoint& primary);

    /// Numbers whose nodes are not those that they had when they were settled last.
    const std::vector<Number>& unsettled() const noexcept { return unsettled_; }

    /// Takes the last of them: whoever uses that number learns its nodes now, or puts it back.
    Number take_unsettled() noexcept {
        const Number number = unsettled_.back();
        unsettled_.pop_back();
        return number;
    }
    void unsettle(Number number) { unsettled_.push_back(number); }

private:
    static constexpr std::size_t most_groups = 2 * slot_count;

    std::array<Number, slot_count> owners_{};
    std::vector<Group> groups_;
    std::vector<Number> unsettled_;
};

}  // namespace rate_limit
