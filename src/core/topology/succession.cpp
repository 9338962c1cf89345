#include "core/topology/succession.h"

#include <algorithm>

namespace rate_limit {
namespace {

bool has_primary(const Group& group) {
    return group.primary.port != 0;
}

/// How many slots are in both lists, each of which has its ranges in ascending order.
std::size_t common_slots(const std::vector<SlotRange>& one, const std::vector<SlotRange>& other) {
    std::size_t count = 0;
    auto a = one.begin();
    auto b = other.begin();
    while (a != one.end() && b != other.end()) {
        const auto first = std::max(a->first, b->first);
        const auto last = std::min(a->last, b->last);
        count += first <= last ? static_cast<std::size_t>(last - first) + 1 : 0;
        a->last < b->last ? ++a : ++b;
    }
    return count;
}

/// Finds predecessors one rule after the other.
class Search {
public:
    Search(const std::vector<Group>& before, const std::vector<Group>& now)
        : before_(before), now_(now), taken_(before.size()), found_(now.size(), no_group) {}

    /// `fits(old, group)`: how well the old one would do; 0: not at all.
    template <typename Fits>
    void look(Fits&& fits) {
        for (std::size_t i = 0; i < now_.size(); ++i) {
            std::size_t best = 0;
            for (std::size_t old = 0; found_[i] == no_group && old < before_.size(); ++old) {
                const std::size_t fit =
                    taken_[old] || !has_primary(before_[old]) ? 0 : fits(before_[old], now_[i]);
                if (fit > best) {
                    best = fit;
                    candidate_ = old;
                }
            }
            if (best != 0) {
                found_[i] = candidate_;
                taken_[candidate_] = true;
            }
        }
    }

    std::vector<std::size_t> result() { return std::move(found_); }

private:
    const std::vector<Group>& before_;
    const std::vector<Group>& now_;
    std::vector<bool> taken_;
    std::vector<std::size_t> found_;
    std::size_t candidate_ = 0;
};

}  // namespace

std::vector<std::size_t> predecessors(const std::vector<Group>& before, const std::vector<Group>& now) {
    Search search(before, now);
    search.look([](const Group& old, const Group& group) -> std::size_t {
        return has_primary(group) && old.primary == group.primary ? 1 : 0;
    });
    search.look([](const Group& old, const Group& group) -> std::size_t {
        return std::count(old.replicas.begin(), old.replicas.end(), group.primary) != 0 ? 1 : 0;
    });
    search.look([](const Group& old, const Group& group) { return common_slots(old.slots, group.slots); });
    return search.result();
}

}  // namespace rate_limit
