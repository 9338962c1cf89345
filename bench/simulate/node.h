#pragma once

#include <array>
#include <cstdint>

#include "bench/simulate/events.h"
#include "bench/simulate/measures.h"
#include "bench/simulate/random.h"
#include "bench/simulate/server/server.h"
#include "core/limit/window.h"

namespace rate_limit::simulated {

struct Message;

/// One shard: a primary and a replica, each a process that does one command after another.
class Shard {
public:
    /// `journal`: replicas are read.
    Shard(const Setup& setup, bool journal);
    Shard(const Shard&) = delete;
    Shard& operator=(const Shard&) = delete;

    /// Does the command; returns when its answer leaves.
    Micros execute(Message& message, Micros now, Random& random, Measures& measures);

    /// Lets the replica hear of nothing newer than `from` until then.
    void cut(Micros from, Micros until) noexcept {
        cut_from_ = from;
        cut_until_ = until;
    }

    Micros busy(bool replica) const noexcept { return sides_[replica ? 1 : 0].busy / 1000; }

private:
    struct Side {
        Micros free_at = 0;
        Nanos busy = 0;  // in all
    };

    void read_replica(Message& message, Micros now, Random& random);
    void write(Message& message, Micros now);
    void count(const Message& message, Micros now, Measures& measures);

    const Setup& setup_;
    Server primary_;
    Server replica_;
    Journal journal_;
    std::array<Side, 2> sides_;
    Micros cut_from_ = 0;
    Micros cut_until_ = 0;
};

/// How much a delay is this time.
inline Micros draw(const Delay& delay, Random& random) noexcept {
    const double rest = delay.mean_of_rest != 0 ? random.exponential(delay.mean_of_rest) : 0;
    return static_cast<Micros>(delay.fixed + rest);
}

}  // namespace rate_limit::simulated
