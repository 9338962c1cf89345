#include "bench/simulate/faults.h"

#include "bench/simulate/world.h"

namespace rate_limit::simulated {

Faults::Faults(World& world) {
    const Setup& setup = world.setup;
    if (setup.kill_every != 0) {
        kill_.world = &world;
        world.events.in(static_cast<Micros>(setup.kill_every * 1e6), kill_);
    }
    if (!setup.outage.is_empty()) {
        begin_.world = &world;
        end_.world = &world;
        end_.over = true;
        world.events.in(static_cast<Micros>(setup.outage.from * 1e6), begin_);
        world.events.in(static_cast<Micros>(setup.outage.until * 1e6), end_);
    }
}

void Faults::Kill::happen() {
    Machine& machine = *world->machines[world->random.below(world->machines.size())];
    if (++count % 3 == 0) {
        machine.kill();
    } else {
        machine.kill_worker(world->random.below(machine.workers().size()));
    }
    world->events.in(static_cast<Micros>(world->setup.kill_every * 1e6), *this);
}

void Faults::Outage::happen() {
    over ? world->mend_primaries() : world->lose_primaries();
}

}  // namespace rate_limit::simulated
