#include "core/topology/recent_moves.h"

#include <algorithm>

namespace rate_limit {

void RecentMoves::add(const Move& move, Millis now) {
    moves_[move.slot] = {move.to, now};
}

bool RecentMoves::forget(Millis now) noexcept {
    const std::size_t before = moves_.size();
    for (auto at = moves_.begin(); at != moves_.end();) {
        at->second.at = std::min(at->second.at, now);
        at = now - at->second.at >= kept ? moves_.erase(at) : std::next(at);
    }
    return moves_.size() != before;
}

}  // namespace rate_limit
