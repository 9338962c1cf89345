#include "core/topology/slot_map.h"

#include <algorithm>
#include <utility>

#include "core/topology/succession.h"

namespace rate_limit {
namespace {

using Number = SlotMap::Number;

bool is_free(const Group& group) noexcept {
    return group.primary.port == 0 && group.slots.empty();
}

bool same_nodes(const Group& one, const Group& other) noexcept {
    return one.primary == other.primary && one.replicas == other.replicas;
}

/// The lowest number that is nobody's, from `first` on, which may be one more than there are.
std::size_t free_number(const std::vector<Group>& groups, std::size_t first) noexcept {
    while (first < groups.size() && !is_free(groups[first])) {
        ++first;
    }
    return first;
}

/// Each group of the topology at its number, after those that are gone: `from` are their predecessors.
/// `numbers` gets the number of each.
std::vector<Group> place(const std::vector<Group>& before, const Topology& topology,
                         std::vector<std::size_t>& numbers) {
    std::vector<Group> groups(before.size());
    numbers = predecessors(before, topology.groups);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] != no_group) {
            groups[numbers[i]] = topology.groups[i];
        }
    }
    std::size_t free = 1;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] == no_group) {
            free = free_number(groups, free);
            groups.resize(std::max(groups.size(), free + 1));
            groups[free] = topology.groups[i];
            numbers[i] = free;
        }
    }
    return groups;
}

/// The endpoint becomes the primary if it is a replica, or was the primary before. `former` is not read from:
/// it may be down, or may not know yet that it is a replica.
bool take_place(Group& group, Endpoint& former, const Endpoint& primary) {
    const auto replica = std::find(group.replicas.begin(), group.replicas.end(), primary);
    if (replica != group.replicas.end()) {
        former = std::exchange(group.primary, std::move(*replica));
        group.replicas.erase(replica);
        return true;
    }
    if (former == primary) {
        group.replicas.push_back(group.primary);
        group.primary = std::exchange(former, Endpoint{});
        return true;
    }
    return false;
}

}  // namespace

SlotMap::SlotMap() : groups_(1), formers_(1) {}

void SlotMap::take(const Topology& topology, const RecentMoves& moves) {
    SlotMap next;
    std::vector<std::size_t> numbers;
    next.groups_ = place(groups_, topology, numbers);
    next.formers_.resize(next.groups_.size());
    next.named_ = topology.groups.size() + 1;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        for (const SlotRange& range : topology.groups[i].slots) {
            std::fill(next.owners_.begin() + range.first, next.owners_.begin() + range.last + 1,
                      static_cast<Number>(numbers[i]));
        }
    }
    moves.for_each([&next](const Move& move) { next.move(move); });
    next.unsettled_ = unsettled_;
    for (std::size_t i = 1; i < next.groups_.size(); ++i) {
        if (i >= groups_.size() || !same_nodes(groups_[i], next.groups_[i])) {
            next.unsettled_.push_back(static_cast<Number>(i));
        }
    }
    *this = std::move(next);
}

void SlotMap::move(const Move& move) {
    const Number number = group_of(move.to);
    if (number != 0) {
        owners_[move.slot] = number;
    }
}

SlotMap::Number SlotMap::group_of(const Endpoint& primary) {
    const auto has = [&primary](const Group& group) { return group.primary == primary; };
    const auto found = std::find_if(groups_.begin(), groups_.end(), has);
    if (found != groups_.end()) {
        return static_cast<Number>(found - groups_.begin());
    }
    unsettled_.reserve(unsettled_.size() + 1);
    for (std::size_t i = 1; i < groups_.size(); ++i) {
        if (take_place(groups_[i], formers_[i], primary)) {
            unsettled_.push_back(static_cast<Number>(i));
            return unsettled_.back();
        }
    }
    const std::size_t free = free_number(groups_, 1);
    if (free >= named_ + most_strangers) {
        return 0;
    }
    Group made;
    made.primary = primary;
    formers_.resize(std::max(groups_.size(), free + 1));
    groups_.resize(formers_.size());
    groups_[free] = std::move(made);
    formers_[free] = Endpoint{};
    unsettled_.push_back(static_cast<Number>(free));
    return unsettled_.back();
}

}  // namespace rate_limit
