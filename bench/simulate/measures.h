#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/simulate/calls.h"
#include "bench/simulate/setup.h"

namespace rate_limit::simulated {

/// Counts of a run, as somebody makes them who sees all machines and all of Redis at once.
class Measures {
public:
    /// Until a window's limit is reached, which the first rejection shows, and after that.
    enum Phase : std::uint8_t { until, after, phases };

    Measures(const Setup& setup, Way way) : setup_(setup), way_(way), windows_(setup.keys) {}

    void requested(Key key, Millis now) { ++requests[phase_of(key, now)]; }

    void called(const Called& call, bool at_replica, Millis now) {
        ++calls[phase_of(call.key, now)][at_replica ? command_count : static_cast<std::size_t>(call.command)];
    }

    // Requests count in a window: of an exact way when they are admitted, of another one when the primary
    // takes their charge.

    /// A request was admitted by the window that ends at `reset`.
    void admit(Key key, Millis reset, Micros now);

    /// A request is over, and was charged.
    void charged(std::int64_t cost) { in_doubt += is_exact(way_) ? 0 : cost; }

    /// The primary has taken a charge, and has this window now.
    void stored(Key key, const Window& window);

    /// One was rejected by that window.
    void rejected(Key key, Millis reset, Micros now);

    /// No more will come.
    void finish();

    std::array<std::uint64_t, phases> requests{};
    std::array<std::array<std::uint64_t, command_count + 1>, phases>
        calls{};  ///< the last ones are the replicas'
    std::uint64_t admitted = 0;
    std::uint64_t rejections = 0;
    std::uint64_t failed = 0;   ///< requests that were denied as the store did not answer
    std::int64_t in_doubt = 0;  ///< charges that no primary has taken; not of exact ways
    std::uint64_t unfair = 0;   ///< rejections while others held a part of the limit; exact ways only
    std::uint64_t windows_counted = 0;
    std::uint64_t windows_reached = 0;  ///< whose limit was reached
    std::int64_t over = 0;              ///< the limit, in all windows
    std::int64_t most_over = 0;         ///< in one
    std::int64_t unspent_then = 0;      ///< left of the limits at the first rejection; exact ways only
    std::int64_t most_unspent_then = 0;
    std::int64_t unspent_at_last = 0;  ///< left of the limits when the windows, or the run, had ended
    Micros longest_unspent = 0;        ///< from the first rejection of a window to its last admission

private:
    struct Counted {
        Millis reset = 0;
        std::int64_t cost = 0;
        Micros rejected_since = 0;  // 0: nobody was
    };

    /// The latest window of a key and the one before.
    struct Windows {
        Counted now;
        Counted before;
    };

    Phase phase_of(Key key, Millis now) const {
        const Counted& window = windows_[key].now;
        return window.rejected_since != 0 && window.reset > now ? after : until;
    }
    Counted* find(Key key, Millis reset);
    void close(const Counted& window);

    const Setup& setup_;
    const Way way_;
    std::vector<Windows> windows_;
};

}  // namespace rate_limit::simulated
