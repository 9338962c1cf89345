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
        if (slots[slot]) {
            append(ranges, slot);
        }
    }
    return ranges;
}

/// The group of before, with the slots that it keeps and without the replicas that are elsewhere.
Group kept_of(const Group& was, const Slots& slots, const Topology& map, Millis since) {
    Group kept = was;
    kept.unclaimed_since = since;
    kept.slots = ranges_of(slots);
    kept.replicas.erase(std::remove_if(kept.replicas.begin(), kept.replicas.end(),
                                       [&map](const Endpoint& replica) { return map.names(replica); }),
                        kept.replicas.end());
    return kept;
}

}  // namespace

void keep_unclaimed(const Topology& before, Topology& map, Millis now) {
    Slots claimed;
    for (const Group& group : map.groups) {
        add(group.slots, claimed);
    }
    if (claimed.all()) {
        return;
    }
    std::vector<Group> all = map.groups;
    for (const Group& was : before.groups) {
        Slots slots;
        add(was.slots, slots);
        slots &= ~claimed;
        const Millis since = was.unclaimed_since != 0 ? was.unclaimed_since : now;
        if (slots.any() && now - since < unclaimed_for && !map.names(was.primary)) {
            all.push_back(kept_of(was, slots, map, since));
        }
    }
    std::sort(all.begin(), all.end(),
              [](const Group& one, const Group& other) { return one.primary < other.primary; });
    map.groups.swap(all);
}

}  // namespace rate_limit
