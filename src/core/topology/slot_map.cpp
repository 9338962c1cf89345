#include "core/topology/slot_map.h"

#include <algorithm>
#include <utility>

#include "core/topology/succession.h"

namespace rate_limit {

namespace {

using Number = SlotMap::Number;

constexpr std::uint16_t all_parts = 0xffff;
constexpr unsigned part_bits = 10;

std::uint16_t parts_between(unsigned first, unsigned last) noexcept {
    std::uint16_t parts = 0;
    for (unsigned part = first >> part_bits; part <= last >> part_bits; ++part) {
        parts = static_cast<std::uint16_t>(parts | 1U << part);
    }
    return parts;
}

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

/// Each group of a topology at its number.
struct Placed {
    std::vector<Group> groups;
    std::vector<std::size_t> numbers;  // the number of each group of the topology
    std::vector<bool> followed;        // by number: the group is the one of before, or goes on from it
};

/// After those that are gone: see predecessors().
Placed place(const std::vector<Group>& before, const Topology& topology) {
    Placed placed{std::vector<Group>(before.size()), predecessors(before, topology.groups),
                  std::vector<bool>(before.size())};
    for (std::size_t i = 0; i < placed.numbers.size(); ++i) {
        if (placed.numbers[i] != no_group) {
            placed.groups[placed.numbers[i]] = topology.groups[i];
            placed.followed[placed.numbers[i]] = true;
        }
    }
    std::size_t free = 1;
    for (std::size_t i = 0; i < placed.numbers.size(); ++i) {
        if (placed.numbers[i] == no_group) {
            free = free_number(placed.groups, free);
            placed.groups.resize(std::max(placed.groups.size(), free + 1));
            placed.groups[free] = topology.groups[i];
            placed.numbers[i] = free;
        }
    }
    return placed;
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

void RecentMoves::add(const Move& move, Millis now) {
    std::list<Said> added;
    added.push_back({move, now});
    const auto [at, is_new] = by_slot_.emplace(move.slot, added.begin());
    if (!is_new) {
        said_.erase(at->second);
        at->second = added.begin();
    }
    said_.splice(said_.end(), added);
}

bool RecentMoves::forget(Millis now) noexcept {
    const std::size_t before = by_slot_.size();
    for (Said& said : said_) {
        said.at = std::min(said.at, now);
    }
    while (!said_.empty() && now - said_.front().at >= kept) {
        by_slot_.erase(said_.front().move.slot);
        said_.pop_front();
    }
    return by_slot_.size() != before;
}

SlotMap::SlotMap() : groups_(1), formers_(1), parts_(1, all_parts) {}

void SlotMap::take(const Topology& topology, const RecentMoves& moves) {
    SlotMap next;
    Placed placed = place(groups_, topology);
    next.groups_ = std::move(placed.groups);
    next.formers_.resize(next.groups_.size());
    next.parts_.resize(next.groups_.size());
    next.named_ = topology.groups.size() + 1;
    for (std::size_t i = 0; i < placed.numbers.size(); ++i) {
        for (const SlotRange& range : topology.groups[i].slots) {
            next.give(range, static_cast<Number>(placed.numbers[i]));
        }
    }
    moves.for_each([&](const Move& move) {
        // A node that the topology does not name any more has been replaced since: its slots are its
        // successor's.
        const Number before = next.find(move.to) == 0 && !next.names(move.to) ? find(move.to) : Number{0};
        if (before != 0 && placed.followed[before]) {
            next.give({move.slot, move.slot}, before);
        } else {
            next.move(move);
        }
    });
    next.changed_ = changed_;
    for (std::size_t i = 1; i < next.groups_.size(); ++i) {
        if (i >= groups_.size() || !same_nodes(groups_[i], next.groups_[i])) {
            next.changed_.push_back(static_cast<Number>(i));
        }
    }
    *this = std::move(next);
}

void SlotMap::move(const Move& move) {
    const Number number = make_primary(move.to);
    if (number != 0) {
        give({move.slot, move.slot}, number);
    }
}

void SlotMap::give(const SlotRange& slots, Number number) noexcept {
    std::fill(owners_.begin() + slots.first, owners_.begin() + slots.last + 1, number);
    parts_[number] |= parts_between(slots.first, slots.last);
}

Number SlotMap::find(const Endpoint& primary) const noexcept {
    const auto has = [&primary](const Group& group) { return group.primary == primary; };
    const auto found = std::find_if(groups_.begin() + 1, groups_.end(), has);
    return found != groups_.end() ? static_cast<Number>(found - groups_.begin()) : Number{0};
}

bool SlotMap::names(const Endpoint& node) const noexcept {
    const auto has = [&node](const Group& group) {
        return std::find(group.replicas.begin(), group.replicas.end(), node) != group.replicas.end();
    };
    return std::any_of(groups_.begin(), groups_.end(), has) ||
           std::find(formers_.begin(), formers_.end(), node) != formers_.end();
}

Number SlotMap::make_primary(const Endpoint& primary) {
    const Number found = find(primary);
    if (found != 0) {
        return found;
    }
    changed_.reserve(changed_.size() + 1);
    for (std::size_t i = 1; i < groups_.size(); ++i) {
        if (take_place(groups_[i], formers_[i], primary)) {
            changed_.push_back(static_cast<Number>(i));
            return changed_.back();
        }
    }
    const std::size_t free = free_number(groups_, 1);
    if (free >= named_ + most_strangers) {
        return 0;
    }
    Group made;
    made.primary = primary;
    formers_.resize(std::max(groups_.size(), free + 1));
    parts_.resize(formers_.size());
    groups_.resize(formers_.size());
    groups_[free] = std::move(made);
    formers_[free] = Endpoint{};
    parts_[free] = 0;
    changed_.push_back(static_cast<Number>(free));
    return changed_.back();
}

}  // namespace rate_limit
