#pragma once

#include <cstdint>

namespace rate_limit {

/// The cost of evicting a record; records of the first tiers are evicted first.
enum class EvictionTier : std::uint8_t {
    ended,  ///< nothing: its window has ended, and nobody needs it any more
    copy,   ///< a question to Redis, which knows the window
    lease,  ///< a question to Redis, and the tokens at hand, which nobody has spent
    local,  ///< a local window that is not used up: its client gets a new one
    never,  ///< a used-up local window, or one that a request or an answer still has to change, stays
};

/// Decides which of several records is evicted: the lowest.
struct EvictionRank {
    EvictionTier tier = EvictionTier::never;
    double share = 0;  ///< how much of its limit is used: within a tier the lowest share is evicted first

    friend bool operator<(const EvictionRank& a, const EvictionRank& b) noexcept {
        return a.tier != b.tier ? a.tier < b.tier : a.share < b.share;
    }
};

/// A listener that is told what a process does for want of room. It may not call the table.
class RoomListener {
public:
    /// A record of an open window had to go.
    virtual void on_evicted(EvictionTier tier) noexcept = 0;

    /// There was no room for a new id.
    virtual void on_full() noexcept = 0;

protected:
    ~RoomListener() = default;
};

}  // namespace rate_limit
