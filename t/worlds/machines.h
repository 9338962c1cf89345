#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "t/world/machine.h"
#include "t/worlds/machine_plan.h"

namespace rate_limit::world {

/// The machines of one world, as its plan has them.
class Machines {
public:
    /// Whoever has requests at workers.
    class User {
    public:
        /// Whether a request is under way there.
        virtual bool uses(const WorkerProcess& worker) const = 0;

        /// The worker ends: none of its requests may be left.
        virtual void forget(const WorkerProcess& worker) = 0;

    protected:
        ~User() = default;
    };

    /// `plan` and `setup` outlive it.
    Machines(Events& events, const MachinePlan& plan, const Setup& setup);

    /// A worker that takes requests.
    WorkerProcess& choose(Chance& chance);

    void begin(const Fault<MachineFault>& fault, User& user);

    /// It is over with the fault.
    void end(const Fault<MachineFault>& fault);

    /// All workers begin to leave.
    void leave();

    /// How many charges, refunds and tokens nobody can be sure of, as the machines have counted them.
    std::int64_t uncertain();

    /// Whether all have found out that `primary` has taken the place of `former`; addresses.
    bool all_know(const std::string& former, const std::string& primary) const;

private:
    void replace_worker(Machine& machine, std::uint64_t bits, User& user);
    void end_if_over(Machine& machine, WorkerProcess& worker, User& user);

    Events& events_;
    const std::size_t workers_;
    std::vector<std::unique_ptr<Machine>> machines_;
};

}  // namespace rate_limit::world
