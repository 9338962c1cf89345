#include "core/topology/recent_moves.h"

#include <algorithm>

namespace rate_limit {

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

}  // namespace rate_limit
