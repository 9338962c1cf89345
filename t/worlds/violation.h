#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "t/worlds/plan.h"

namespace rate_limit::world {

/// One world that has run, and what did not hold in it.
struct Outcomes {
    std::vector<std::string> failures;  ///< none: all held
    std::uint64_t requests = 0;
    std::uint64_t events = 0;  ///< until the world ended, or something did not hold
    Micros time = 0;
};

/// Runs the world of a plan; `log` gets a line for each event, unless it is null.
Outcomes run_world(const Plan& plan, std::ostream* log);

/// Tells all of a world in which something did not hold: what; faults none of which can be left out, with
/// which something, perhaps something else, does not hold either; the last events of a run with these alone;
/// and what to type to see it again.
void tell_violation(const Plan& plan, const Outcomes& seen, std::ostream& to);

}  // namespace rate_limit::world
