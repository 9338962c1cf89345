#include "core/topology/succession.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace rate_limit {

namespace {

using ByEndpoint = std::unordered_map<Endpoint, std::size_t, EndpointHash>;

bool has_primary(const Group& group) {
    return group.primary.port != 0;
}

/// Finds predecessors one rule after the other.
class Search {
public:
    Search(const std::vector<Group>& before, const std::vector<Group>& now)
        : before_(before), now_(now), taken_(before.size()), found_(now.size(), no_group) {}

    /// `predecessor(group)`: the index of an old one, or no_group.
    template <typename Predecessor>
    void look(Predecessor&& predecessor) {
        for (std::size_t i = 0; i < now_.size(); ++i) {
            if (found_[i] != no_group) {
                continue;
            }
            const std::size_t old = predecessor(now_[i]);
            if (old != no_group && is_open(old)) {
                found_[i] = old;
                taken_[old] = true;
            }
        }
    }

    bool is_open(std::size_t old) const { return !taken_[old] && has_primary(before_[old]); }

    bool done() const {
        for (const std::size_t found : found_) {
            if (found == no_group) {
                return false;
            }
        }
        return true;
    }

    std::vector<std::size_t> result() { return std::move(found_); }

private:
    const std::vector<Group>& before_;
    const std::vector<Group>& now_;
    std::vector<bool> taken_;
    std::vector<std::size_t> found_;
};

std::size_t find(const ByEndpoint& indexes, const Endpoint& endpoint) {
    const auto found = indexes.find(endpoint);
    return found != indexes.end() ? found->second : no_group;
}

ByEndpoint by_primary(const std::vector<Group>& groups) {
    ByEndpoint indexes(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (has_primary(groups[i])) {
            indexes.emplace(groups[i].primary, i);
        }
    }
    return indexes;
}

ByEndpoint by_replica(const std::vector<Group>& groups) {
    ByEndpoint indexes;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        for (const Endpoint& replica : groups[i].replicas) {
            indexes.emplace(replica, i);
        }
    }
    return indexes;
}

/// Counts whose slots a group has got.
class SlotCount {
public:
    explicit SlotCount(const std::vector<Group>& before) : counts_(before.size()) {
        owners_.fill(no_group);
        for (std::size_t i = 0; i < before.size(); ++i) {
            for (const SlotRange& range : before[i].slots) {
                for (unsigned slot = range.first; slot <= range.last; ++slot) {
                    owners_[slot] = i;
                }
            }
        }
    }

    /// The open group that had most of this group's slots; of equals the first one.
    std::size_t most(const Group& group, const Search& search) {
        std::vector<std::size_t> had;
        for (const SlotRange& range : group.slots) {
            for (unsigned slot = range.first; slot <= range.last; ++slot) {
                const std::size_t old = owners_[slot];
                if (old != no_group && search.is_open(old) && counts_[old]++ == 0) {
                    had.push_back(old);
                }
            }
        }
        std::size_t best = no_group;
        for (const std::size_t old : had) {
            if (best == no_group || counts_[old] > counts_[best] ||
                (counts_[old] == counts_[best] && old < best)) {
                best = old;
            }
        }
        for (const std::size_t old : had) {
            counts_[old] = 0;
        }
        return best;
    }

private:
    std::array<std::size_t, slot_count> owners_{};
    std::vector<std::size_t> counts_;  // all 0 between calls
};

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

std::vector<std::size_t> predecessors(const std::vector<Group>& before, const std::vector<Group>& now) {
    Search search(before, now);
    const ByEndpoint primaries = by_primary(before);
    search.look([&](const Group& group) { return find(primaries, group.primary); });
    if (search.done()) {
        return search.result();
    }
    const ByEndpoint replicas = by_replica(before);
    search.look([&](const Group& group) { return find(replicas, group.primary); });
    if (!search.done()) {
        SlotCount slots(before);
        search.look([&](const Group& group) { return slots.most(group, search); });
    }
    return search.result();
}

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
