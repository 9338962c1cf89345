#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "t/world/client_request.h"
#include "t/worlds/event_log.h"
#include "t/worlds/limit_truths.h"
#include "t/worlds/machines.h"
#include "t/worlds/plan.h"

namespace rate_limit::world {

/// The requests of one world, from their begins to their ends, and what is asked about each.
class Traffic final : public Machines::User {
public:
    /// All of them outlive it.
    Traffic(Events& events, const Plan& plan, Machines& machines, const LostWrites& lost, Truths& truths,
            EventLog& log);

    std::uint64_t count() const noexcept { return count_; }

    /// What must hold of each limit of the plan.
    std::deque<LimitTruths>& limits() noexcept { return limits_; }

private:
    static constexpr std::size_t most_limits = 3;

    /// A request, and how far it has come.
    struct Visit {
        std::unique_ptr<ClientRequest> request;
        WorkerProcess* worker;
        std::size_t memory;  // of its machine
        std::size_t key;
        std::int64_t cost;
        Micros begun;
        std::array<std::size_t, most_limits> numbers{};  // among those that each limit has let in
        Events::Place next{};                            // what happens to it next
    };

    /// What a worker may not have told a store yet.
    struct Recent {
        const WorkerProcess* worker;
        Micros ended;
        std::size_t key;
        std::int64_t cost;
    };

    bool uses(const WorkerProcess& worker) const override;
    void forget(const WorkerProcess& worker) override;
    void vanish(const WorkerProcess& worker, bool memory) override;

    void begin_arrivals();
    void arrive();
    void come_again();
    bool is_over() const;
    bool begin_request();
    void begin(Visit& visit);
    void decided(Visit& visit);
    void admitted(Visit& visit);
    void check_headers(const Visit& visit);
    void end(Visit& visit);
    void end_request(Visit& visit);
    void forget_ended();
    void lose(std::size_t key, std::int64_t cost);
    void note_recent(const Visit& visit);
    Share share_of(const Visit& visit, const LimitTruths& limit) const;
    std::size_t number_of(const AppliedLimit& applied) const;

    Events& events_;
    const Plan& plan_;
    Machines& machines_;
    Truths& truths_;
    EventLog& log_;
    Chance chance_;
    std::deque<LimitTruths> limits_;
    const Micros patience_;      // how long a request may wait
    std::list<Visit> visits_;    // those that are under way, and some that have ended
    std::deque<Recent> recent_;  // where workers may be killed
    std::uint64_t count_ = 0;
};

}  // namespace rate_limit::world
