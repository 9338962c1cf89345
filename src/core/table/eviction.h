#pragma once

#include <cstdint>

namespace rate_limit {

/// How firmly a record holds its place; the lower goes first.
enum class Hold : std::uint8_t {
    none,   ///< its window has ended: nothing of it is needed any more
    copy,   ///< Redis knows it
    lease,  ///< Redis knows it, and tokens would be lost that nobody has spent
    light,  ///< a local window that is not used up: its client gets a new one
    firm,   ///< never evicted: a used up local window, or one that somebody still has to settle with
};

/// What decides which of several records goes.
struct EvictionRank {
    Hold hold = Hold::firm;
    double share = 0;  ///< of its limit that is used: the lower goes first

    friend bool operator<(const EvictionRank& a, const EvictionRank& b) noexcept {
        return a.hold != b.hold ? a.hold < b.hold : a.share < b.share;
    }
};

}  // namespace rate_limit
