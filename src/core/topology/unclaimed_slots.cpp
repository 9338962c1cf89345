#include "core/topology/unclaimed_slots.h"

#include <algorithm>
#include <bitset>
#include <utility>

namespace rate_limit {
namespace {

using Slots = std::bitset<slot_count>;

void add(const std::vector<SlotRange>& ranges, Slots& slots) {
    for (const SlotRange& range : ranges) {
        for (unsigned slot = range.first; slot <= range.last; ++slot) {
            slots.set(slot);
        }
    }
}

std::vector<SlotRange> ranges_of(const Slots& slots) {
    std::vector<SlotRange> ranges;
    for (std::uint16_t slot = 0; slot < slot_count; ++slot) {
        if (!slots[slot]) {
            continue;
        }
        if (slot > 0 && slots[slot - 1U]) {
            ranges.back().last = slot;
        } else {
            ranges.push_back({slot, slot});
        }
    }
    return ranges;
}

bool follows(const Endpoint& node, const Topology& topology) {
    return std::any_of(topology.groups.begin(), topology.groups.end(), [&node](const Group& group) {
        return std::find(group.replicas.begin(), group.replicas.end(), node) != group.replicas.end();
    });
}

bool leads(const Endpoint& node, const Topology& topology) {
    return std::any_of(topology.groups.begin(), topology.groups.end(),
                       [&node](const Group& group) { return group.primary == node; });
}

/// The group of the map that has this primary; the one that was is put in where there is none, without the
/// replicas that are elsewhere.
Group& find_or_put_in(Topology& map, const Group& was) {
    auto at =
        std::lower_bound(map.groups.begin(), map.groups.end(), was,
                         [](const Group& one, const Group& other) { return one.primary < other.primary; });
    if (at == map.groups.end() || at->primary != was.primary) {
        Group kept = was;
        kept.slots.clear();
        const auto elsewhere = [&map](const Endpoint& replica) {
            return follows(replica, map) || leads(replica, map);
        };
        kept.replicas.erase(std::remove_if(kept.replicas.begin(), kept.replicas.end(), elsewhere),
                            kept.replicas.end());
        at = map.groups.insert(at, std::move(kept));
    }
    return *at;
}

Slots claimed_in(const Topology& map) {
    Slots claimed;
    for (const Group& group : map.groups) {
        add(group.slots, claimed);
    }
    return claimed;
}

}  // namespace

void UnclaimedSlots::keep(const Topology& before, Topology& map, Millis now) {
    const Slots claimed = claimed_in(map);
    std::map<Endpoint, Millis> since;
    if (!claimed.all()) {
        Topology all = map;
        for (const Group& was : before.groups) {
            Slots kept;
            add(was.slots, kept);
            kept &= ~claimed;
            if (kept.none() || follows(was.primary, map)) {
                continue;
            }
            const auto known = since_.find(was.primary);
            const Millis first = known != since_.end() ? known->second : now;
            if (now - first < kept_for) {
                since.emplace(was.primary, first);
                Group& group = find_or_put_in(all, was);
                add(group.slots, kept);
                group.slots = ranges_of(kept);
            }
        }
        map = std::move(all);
    }
    since_ = std::move(since);
}

}  // namespace rate_limit
