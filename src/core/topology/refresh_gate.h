#pragma once

#include <cstdint>

#include "core/limit/window.h"

namespace rate_limit {

/// How often a process refreshes a topology.
struct Pace {
    Millis interval = 0;          ///< between refreshes that nothing calls for; above 0
    unsigned jitter_percent = 0;  ///< the interval is longer or shorter by up to that; at most 100
    Millis least_gap = 0;         ///< between a refresh and the one that a hint calls for; 1 to most_gap
    Millis most_gap = 0;          ///< that gap grows up to this while hints come and refreshes change nothing
};

/// Says when a process should ask for a topology again. A hint, as a server's MOVED, is a reason to do so at
/// once. But hints may come by thousands, or go on where asking does not help: each refresh that a hint has
/// called for and that changes nothing doubles the gap before the next such one.
class RefreshGate {
public:
    explicit RefreshGate(const Pace& pace) noexcept : pace_(pace), gap_(pace.least_gap) {}

    /// Something shows that the topology may have changed. Hints until the end of the next refresh count as
    /// one.
    void hint() noexcept { hinted_ = true; }

    /// Whether the next refresh is one that a hint calls for.
    bool hinted() const noexcept { return hinted_; }

    /// A refresh has ended. `useful`: it brought what hints call for, as a change; the gap is the least
    /// again.
    void refreshed(bool useful, Millis now) noexcept;

    /// How long to wait before the next refresh, from `now` on; 0: it is due. The first one is due at once.
    /// The caller asks again after each hint. `random` is any 32 random bits. If the clock goes back, nobody
    /// waits for longer than after a refresh.
    Millis next(Millis now, std::uint32_t random) noexcept;

private:
    Pace pace_;
    Millis gap_;            // between the last refresh and the one that the next hint calls for
    Millis last_ = 0;       // when a refresh ended last; means nothing before the first one
    Millis interval_ = -1;  // with jitter, from the last refresh to the next; below 0: not drawn yet
    bool begun_ = false;    // a refresh has ended
    bool hinted_ = false;   // since then
};

}  // namespace rate_limit
