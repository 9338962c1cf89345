#pragma once

#include <cstddef>
#include <limits>
#include <list>
#include <string>
#include <vector>

#include "limiter/overrides/shared_change.h"
#include "t/worlds/event_log.h"
#include "t/worlds/machines.h"
#include "t/worlds/plan.h"
#include "t/worlds/truths.h"
#include "t/worlds/turn_watch.h"

namespace rate_limit::world {

/// Operators who set and end overrides that machines share, of keys that no request has. One that was told
/// that it is done is on all machines in the end, unless a later one has replaced it.
class Operators {
public:
    /// All outlive it.
    Operators(Events& events, const Plan& plan, Machines& machines, TurnWatch& turns, EventLog& log);
    Operators(const Operators&) = delete;
    Operators& operator=(const Operators&) = delete;
    ~Operators();

    /// Whether one waits for an answer there.
    bool uses(const WorkerProcess& worker) const;

    /// The worker ends, or dies: nobody learns what became of what was under way there.
    void forget(const WorkerProcess& worker);

    /// The key in Redis under which all overrides of the store lie.
    static constexpr const char* stored_key = "rl:!overrides";

    /// At the end. `lost`: a store may have lost some of them.
    void check(bool lost, Truths& truths);

private:
    static constexpr Micros never = std::numeric_limits<Micros>::max();

    /// An act on a key that has been done, or perhaps was.
    struct Done {
        std::size_t key;
        OverrideKind kind;
        Micros begun;
        Micros ended;  // never: nobody knows whether it was done, or when
    };

    class Act;

    void come();
    void begin(WorkerProcess& worker, std::size_t key, OverrideKind kind);
    void end(const Act& act, SharedChange::Trouble trouble);
    bool is_possible(std::size_t key, OverrideKind kind) const;

    Events& events_;
    const Plan& plan_;
    Machines& machines_;
    TurnWatch& turns_;
    EventLog& log_;
    Chance chance_;
    std::string limit_;  // that they are of; empty: no limit is in the store
    std::list<Act> acts_;
    std::vector<Done> done_;
};

}  // namespace rate_limit::world
