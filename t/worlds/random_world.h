#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "t/worlds/command_watch.h"
#include "t/worlds/event_log.h"
#include "t/worlds/far_truths.h"
#include "t/worlds/machines.h"
#include "t/worlds/operators.h"
#include "t/worlds/plan.h"
#include "t/worlds/servers.h"
#include "t/worlds/told_losses.h"
#include "t/worlds/traffic.h"
#include "t/worlds/truths.h"
#include "t/worlds/turn_watch.h"

namespace rate_limit::world {

/// One world by its plan: all that happens in it, from its begin until it has healed.
class RandomWorld {
public:
    /// `log` gets a line for each event; null: nobody reads them.
    RandomWorld(const Plan& plan, std::ostream* log);
    RandomWorld(const RandomWorld&) = delete;
    RandomWorld& operator=(const RandomWorld&) = delete;
    ~RandomWorld() = default;

    /// The truths that did not hold; empty: all did. It ends there.
    std::vector<std::string> run();

    std::uint64_t requests() const noexcept { return traffic_.count(); }
    std::uint64_t events() const noexcept { return events_.count(); }
    Micros time() const noexcept { return events_.now(); }

private:
    /// All who are at workers.
    class Users final : public Machines::User {
    public:
        Users(Traffic& traffic, Operators& operators) : traffic_(traffic), operators_(operators) {}

        bool uses(const WorkerProcess& worker) const override {
            return traffic_.uses(worker) || operators_.uses(worker);
        }
        void forget(const WorkerProcess& worker) override {
            traffic_.forget(worker);
            operators_.forget(worker);
        }
        void vanish(const WorkerProcess& worker, bool memory) override {
            traffic_.vanish(worker, memory);
            operators_.forget(worker);
        }

    private:
        Traffic& traffic_;
        Operators& operators_;
    };

    void place();
    void set_faults();
    void pass(Micros time);
    void use_up_and_return();
    void check_operators();
    std::map<std::string, Uncertain> waiting(std::size_t region);
    std::int64_t compare_all_of(std::size_t region);
    void compare_at_the_end();

    const Plan plan_;
    Events events_{plan_.seed};
    EventLog log_;
    Network network_{events_};
    Servers servers_;
    Machines machines_;
    Truths truths_;
    ToldLosses losses_;
    CommandWatch watch_;
    FarTruths far_;
    TurnWatch turns_;
    Traffic traffic_;
    Operators operators_;
    Users users_{traffic_, operators_};
};

}  // namespace rate_limit::world
