#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "t/world/machine.h"
#include "t/world/network.h"
#include "t/worlds/plan.h"

namespace rate_limit::world {

/// The machines of one world, as its plan has them.
class Machines {
public:
    /// Whoever has requests at workers.
    class User {
    public:
        /// Whether a request is under way there.
        virtual bool uses(const WorkerProcess& worker) const = 0;

        /// The worker ends, and its requests have.
        virtual void forget(const WorkerProcess& worker) = 0;

        /// The worker dies: its requests vanish. `memory`: with all that its machine remembers.
        virtual void vanish(const WorkerProcess& worker, bool memory) = 0;

    protected:
        ~User() = default;
    };

    /// A worker, and a number that says whose memory it shares: no two machines have the same, nor has one
    /// that started again.
    struct Choice {
        WorkerProcess* worker;  ///< null: no machine serves
        std::size_t memory;
    };

    /// `plan` outlives it, and is as Plan says it of `setups`: machines have the first of their region,
    /// others come with MachineFault::change.
    Machines(Events& events, Network& network, const Plan& plan);

    /// A worker that takes requests.
    Choice choose(Chance& chance);

    /// A choice as above, of a machine that runs; there is one.
    Choice choose_running(Chance& chance);

    /// All workers that do.
    std::vector<Choice> all_choices();

    void begin(const Fault<MachineFault>& fault, User& user);

    /// It is over with the fault.
    void end(const Fault<MachineFault>& fault);

    /// Machines with another configuration get the first one again.
    void put_right(User& user);

    /// All workers begin to leave.
    void leave();

    /// The machines that run.
    template <typename Fn>
    void for_each(Fn&& fn) {
        for (Place& place : places_) {
            if (place.machine != nullptr) {
                fn(*place.machine);
            }
        }
    }

    /// Whether all of the region have found out that `primary` has taken the place of `former`; addresses.
    bool all_know(std::size_t region, const std::string& former, const std::string& primary) const;

private:
    struct Place {
        WallClock clock;                      // as it was when the machine died
        std::unique_ptr<Machine> machine;     // null: it does not run
        std::vector<WorkerProcess*> serving;  // by number
        std::size_t memory;
    };

    void start(Place& place);
    const Setup& setup_of(const Place& place, std::uint64_t number = 0) const;
    void replace(Place& place, std::size_t number, User& user);
    void kill(Place& place, std::uint64_t bits, User& user);
    void crash(Place& place, User& user);
    void reload(Place& place, const Setup& setup, User& user);
    void end_if_over(std::uint32_t pid, Place& place, User& user);
    void make(Place& place);
    void part(const Fault<MachineFault>& fault, bool parted);

    Events& events_;
    Network& network_;
    const std::size_t workers_;
    const SitePlan& sites_;
    const std::vector<std::string> servers_;  // addresses of those that a machine may be parted from
    const std::vector<Setup>& setups_;
    std::size_t memories_ = 0;
    std::vector<Micros> last_crashes_;  // by region: when the last machine that dies runs again
    std::vector<Place> places_;
};

}  // namespace rate_limit::world
