#pragma once

#include <deque>
#include <optional>

#include "t/world/events.h"
#include "t/world/written.h"

namespace rate_limit::world {

class Redis;

/// The writes of a server on their way to one of its replicas, in their order. It ends with its server, or
/// when the replica follows another one: what has not arrived by then never does.
class Replication {
public:
    /// `to` takes over all that `from` has now. Both outlive it.
    Replication(Events& events, Redis& from, Redis& to, Micros lag);
    ~Replication();
    Replication(const Replication&) = delete;
    Replication& operator=(const Replication&) = delete;

    Redis& to() noexcept { return to_; }

    void send(const Effect& effect, const Written& written);

    /// The replica takes over all that the server has now, as after a break that was too long.
    void begin_anew();

    /// All that is on its way arrives now.
    void catch_up();

    /// How long a write takes, from now on. No write overtakes another one.
    void set_lag(Micros lag) noexcept { lag_ = lag; }

    /// While it stalls nothing arrives, and nobody is told.
    void stall(bool stalls) noexcept { stalls_ = stalls; }

    /// The connection is broken: the replica knows that, and gets nothing until it is mended, when it takes
    /// over what it has missed.
    void cut();
    void mend();

    /// Calls fn with each write that has not arrived.
    template <typename Fn>
    void for_each_on_way(Fn&& fn) const {
        for (const Sent& sent : on_way_) {
            fn(sent.written);
        }
    }

private:
    struct Sent {
        Micros arrives;
        Effect effect;
        Written written;
    };

    void set(Micros when);
    void arrive();

    Events& events_;
    Redis& from_;
    Redis& to_;
    Micros lag_;
    bool stalls_ = false;
    bool cut_ = false;
    std::deque<Sent> on_way_;
    std::optional<Events::Place> next_;  // when the first of them arrives, or is tried again
};

}  // namespace rate_limit::world
