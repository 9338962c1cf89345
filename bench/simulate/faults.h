#pragma once

namespace rate_limit::simulated {

class World;

/// Lets the faults happen that the setup asks for: an outage of the primaries, which restart with their data,
/// and kills of workers and machines. `world` outlives all of them.
void schedule_faults(World& world);

}  // namespace rate_limit::simulated
