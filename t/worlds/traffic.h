#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "t/world/client_request.h"
#include "t/worlds/event_log.h"
#include "t/worlds/machines.h"
#include "t/worlds/plan.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// The requests of one world, from their begins to their ends, and what is asked about each.
class Traffic final : public Machines::User {
public:
    /// All of them outlive it.
    Traffic(Events& events, const Plan& plan, Machines& machines, Truths& truths, EventLog& log);

    std::uint64_t count() const noexcept { return count_; }

private:
    /// A request, and how far it has come.
    struct Visit {
        std::unique_ptr<ClientRequest> request;
        std::size_t key;
        Micros begun;
        std::size_t number = 0;   // among those of the key that were let in
        Events::Place aborted{};  // when its client goes
    };

    bool uses(const WorkerProcess& worker) const override;
    void forget(const WorkerProcess& worker) override;
    void arrive();
    void begin_request();
    void decided(Visit& visit);
    void end_request(Visit& visit);
    void forget_ended();

    Events& events_;
    const Plan& plan_;
    Machines& machines_;
    Truths& truths_;
    EventLog& log_;
    Chance chance_;
    std::list<Visit> visits_;  // those that are under way, and some that have ended
    std::uint64_t count_ = 0;
};

}  // namespace rate_limit::world
